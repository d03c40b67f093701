"""Convolutions: dimensions, strides, padding, dilation, groups, transposed ones, dtypes, layouts, shapes that do not fit."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
# Kernels may sum in another order, and half precision rounds what cancels.
TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.float64: (1e-9, 1e-9), torch.float16: (5e-3, 2e-2), torch.bfloat16: (3e-2, 1e-1)}


def convolve(c, x, weight, bias, stride, padding, dilation, transposed=False, output_padding=None, groups=1, **kwargs):
    c.call("convolution", x, weight, bias, stride, padding, dilation, transposed, output_padding or [0] * len(stride), groups,
           tol=TOLERANCE[x.dtype], **kwargs)


def plain(c):
    c.comment("one, two and three dimensions")
    for dtype in FLOATS:
        convolve(c, c.tensor((2, 3, 6), dtype), c.tensor((4, 3, 3), dtype), c.tensor((4,), dtype), [2], [1], [1])
        convolve(c, c.tensor((2, 3, 5, 4), dtype), c.tensor((2, 3, 2, 3), dtype), c.tensor((2,), dtype), [1, 2], [1, 1], [1, 1])
        convolve(c, c.tensor((1, 2, 3, 4, 3), dtype), c.tensor((3, 2, 2, 2, 2), dtype), None, [1, 2, 1], [0, 1, 1], [1, 1, 1])
    convolve(c, c.tensor((1, 3, 7, 7)), c.tensor((4, 3, 3, 3)), None, [2, 2], [2, 0], [2, 3])
    convolve(c, c.tensor((2, 5, 3, 3)), c.tensor((7, 5, 1, 1)), c.tensor((7,)), [1, 1], [0, 0], [1, 1])
    convolve(c, c.tensor((1, 1, 9, 9)), c.tensor((1, 1, 5, 5)), None, [3, 3], [4, 4], [1, 1])
    convolve(c, c.tensor((1, 2, 5, 5)), c.tensor((3, 2, 3, 3)), None, [1], [1], [1], output_padding=[0])
    c.comment("no batch, and none of its items")
    convolve(c, c.tensor((0, 2, 5, 5)), c.tensor((3, 2, 3, 3)), None, [1, 1], [1, 1], [1, 1])
    c.comment("channels last")
    x = c.tensor((2, 3, 5, 4)).to(memory_format=torch.channels_last)
    convolve(c, x, c.tensor((4, 3, 3, 3)), c.tensor((4,)), [1, 1], [1, 1], [1, 1], layout=True)
    convolve(c, x, c.tensor((4, 3, 3, 3)).to(memory_format=torch.channels_last), None, [2, 1], [0, 1], [1, 2], layout=True)


def groups(c):
    c.comment("groups and depthwise")
    for dtype in (torch.float32, torch.bfloat16):
        convolve(c, c.tensor((1, 4, 5, 5), dtype), c.tensor((6, 2, 3, 3), dtype), c.tensor((6,), dtype), [1, 1], [1, 1], [1, 1], groups=2)
        convolve(c, c.tensor((1, 4, 5, 5), dtype), c.tensor((4, 1, 3, 3), dtype), None, [2, 2], [1, 1], [1, 1], groups=4)
    convolve(c, c.tensor((2, 3, 8)), c.tensor((6, 1, 4)), c.tensor((6,)), [1], [3], [2], groups=3)
    convolve(c, c.tensor((1, 19, 4, 5)), c.tensor((19, 1, 3, 3)), c.tensor((19,)), [1, 2], [2, 1], [1, 1], groups=19)
    convolve(c, c.tensor((1, 8, 6, 6)).to(memory_format=torch.channels_last), c.tensor((8, 1, 3, 3)), None, [1, 1], [1, 1], [1, 1], groups=8)


def transposed(c):
    c.comment("transposed")
    for dtype in FLOATS:
        convolve(c, c.tensor((2, 3, 4), dtype), c.tensor((3, 2, 3), dtype), c.tensor((2,), dtype), [2], [1], [1], True, [1])
        convolve(c, c.tensor((1, 3, 3, 4), dtype), c.tensor((3, 2, 2, 3), dtype), None, [2, 1], [0, 1], [1, 1], True)
    convolve(c, c.tensor((1, 2, 2, 3, 2)), c.tensor((2, 2, 2, 2, 2)), c.tensor((2,)), [2, 2, 1], [0, 1, 0], [1, 1, 2], True, [1, 0, 1])
    convolve(c, c.tensor((1, 4, 3, 3)), c.tensor((4, 3, 3, 3)), None, [2, 2], [1, 1], [1, 1], True, [1, 1], groups=2)
    convolve(c, c.tensor((1, 2, 3, 3)), c.tensor((2, 1, 3, 3)), None, [3, 2], [2, 0], [2, 1], True, [0, 1])


def refused(c):
    c.comment("what does not fit")
    x, weight = c.tensor((1, 4, 5, 5)), c.tensor((6, 4, 3, 3))
    numbers = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    c.error("convolution", x, c.tensor((6, 3, 3, 3)), None, *numbers)
    c.error("convolution", x, weight, c.tensor((5,)), *numbers)
    c.error("convolution", x, weight, None, [0, 1], *numbers[1:])
    c.error("convolution", x, weight, None, [1, 1], [-1, 0], *numbers[2:])
    c.error("convolution", x, weight, None, [1, 1], [0, 0], [0, 1], *numbers[3:])
    c.error("convolution", x, weight, None, [1, 1], [0, 0], [3, 1], *numbers[3:])
    c.error("convolution", x, weight, None, *numbers[:5], 3)
    c.error("convolution", x, weight, None, *numbers[:5], 0)
    c.error("convolution", x, weight, None, [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1)
    c.error("convolution", x, weight.to(torch.float16), None, *numbers)
    c.error("convolution", c.tensor((1, 4, 3, 3)), c.tensor((4, 2, 3, 3)), None, [2, 2], [1, 1], [1, 1], True, [2, 2], 1)


def cases(c):
    plain(c)
    groups(c)
    transposed(c)
    refused(c)
