"""Pools: windows, padding, dilation, rounding of sizes, divisors, ties, NaN, layouts, adaptive windows."""

import torch

NAN = float("nan")
HALVES = {torch.float16: (2e-3, 1e-4), torch.bfloat16: (1.2e-2, 1e-2)}


def largest(c):
    c.comment("max pools")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8):
        c.call("max_pool2d_with_indices", c.tensor((2, 2, 5, 4), dtype), [2, 2])
    x = c.tensor((1, 2, 7, 6))
    for kernel, stride, padding, dilation, ceil in (([3], [], [0], [1], False), ([3, 2], [2, 1], [1, 0], [1, 2], False),
                                                    ([3, 3], [2, 2], [1, 1], [1, 1], True), ([2, 2], [3, 3], [0, 0], [1, 1], True),
                                                    ([2, 3], [2, 2], [1, 1], [3, 1], False), ([7, 6], [], [0, 0], [1, 1], False)):
        c.call("max_pool2d_with_indices", x, kernel, stride, padding, dilation, ceil)
    c.call("max_pool2d_with_indices", x[0], [2, 2], [2, 1])
    c.call("max_pool2d_with_indices", x.to(memory_format=torch.channels_last), [3, 3], [2, 2], [1, 1], layout=True)
    c.call("max_pool2d_with_indices", torch.tensor([[[1.0, NAN, 2.0], [NAN, 0.0, 3.0]]]), [2, 2], [1, 1])
    c.call("max_pool2d_with_indices", torch.tensor([[[0.0, -0.0, 5.0], [-0.0, 0.0, 5.0]]]), [2, 2], [1, 1])
    c.call("max_pool2d_with_indices", torch.full((1, 2, 2), float("-inf")), [2, 2])
    c.call("max_pool2d_with_indices", c.tensor((0, 2, 4, 4)), [2, 2])
    c.call("max_pool2d_with_indices", c.tensor((1, 4, 4)), [2, 2], [1, 1], [1, 1], [5, 5])  # a window that sees nothing
    c.error("max_pool2d_with_indices", c.tensor((1, 4, 4)), [2, 2], [1, 1], [2, 2], [3, 3])
    c.call("max_pool3d_with_indices", c.tensor((1, 2, 4, 3, 5)), [2, 2, 2], [], [1, 1, 0])
    c.call("max_pool3d_with_indices", c.tensor((2, 3, 3, 4)), [2, 1, 3], [1, 2, 2], [0, 0, 1], [1, 1, 2], True)
    c.error("max_pool2d_with_indices", x, [2, 2], [2, 2], [2, 0])
    c.error("max_pool2d_with_indices", x, [8, 2])
    c.error("max_pool2d_with_indices", x, [0, 2])
    c.error("max_pool2d_with_indices", x, [2, 2], [0, 1])
    c.error("max_pool2d_with_indices", x, [2, 2, 2])
    c.error("max_pool2d_with_indices", x[0, 0], [2, 2])


def averages(c):
    c.comment("average pools")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64):
        c.call("avg_pool2d", c.tensor((2, 2, 5, 4), dtype, -9, 9), [2, 3], [2, 1], tol=HALVES.get(dtype))
    x = c.tensor((1, 2, 7, 6))
    for kernel, stride, padding in (([3], [], [0]), ([3, 3], [2, 2], [1, 1]), ([2, 3], [3, 2], [1, 0]), ([4, 4], [3, 3], [2, 2])):
        for ceil in (False, True):
            for include in (False, True):
                c.call("avg_pool2d", x, kernel, stride, padding, ceil, include)
                c.call("avg_pool2d", x, kernel, stride, padding, ceil, include, 2)
    c.call("avg_pool2d", x.to(memory_format=torch.channels_last), [2, 2], layout=True)
    c.call("avg_pool2d", x[0], [2, 2])
    for include in (False, True):
        c.call("avg_pool1d", c.tensor((2, 3, 7)), [3], [2], [1], True, include)
        c.call("avg_pool3d", c.tensor((1, 2, 4, 3, 5)), [2, 2, 3], [2, 1, 2], [1, 0, 1], True, include)
    c.call("avg_pool1d", c.tensor((3, 7)), [2])
    c.call("avg_pool3d", c.tensor((2, 4, 3, 5)), [2, 2, 2], [], [0, 0, 0], False, True, 3)
    c.call("avg_pool2d", c.tensor((0, 2, 4, 4)), [2, 2])
    c.error("avg_pool2d", x, [2, 2], [2, 2], [2, 0])
    c.error("avg_pool2d", x, [2, 2], [2, 2], [0, 0], False, True, 0)
    c.error("avg_pool2d", x, [9, 2])
    c.error("avg_pool1d", c.tensor((2, 3, 4, 5)), [2])


def adaptive(c):
    c.comment("adaptive pools")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        c.call("_adaptive_avg_pool2d", c.tensor((2, 2, 5, 4), dtype), [3, 2], tol=HALVES.get(dtype))
        c.call("adaptive_max_pool2d", c.tensor((2, 2, 5, 4), dtype), [3, 2])
    for size in ([1, 1], [5, 4], [7, 6], [2, 9]):
        c.call("_adaptive_avg_pool2d", c.tensor((1, 2, 5, 4)), size)
        c.call("adaptive_max_pool2d", c.tensor((1, 2, 5, 4)), size)
    c.call("_adaptive_avg_pool2d", c.tensor((2, 3, 4, 5)).to(memory_format=torch.channels_last), [2, 2], layout=True)
    c.call("_adaptive_avg_pool2d", c.tensor((2, 5, 4)), [2, 2])
    c.call("_adaptive_avg_pool3d", c.tensor((2, 2, 3, 4, 5)), [2, 2, 3])
    c.call("adaptive_max_pool3d", c.tensor((1, 2, 3, 4, 5)), [2, 3, 2])
    c.call("adaptive_max_pool1d", c.tensor((2, 2, 7)), [3])
    c.call("adaptive_max_pool1d", c.tensor((2, 7)), [2])
    c.error("_adaptive_avg_pool2d", c.tensor((1, 2, 0, 4)), [2, 2])
    c.error("adaptive_max_pool2d", c.tensor((5, 4)), [2, 2])


def undone(c):
    c.comment("pools undone")
    for dtype in (torch.float32, torch.float64):
        values, indices = torch.ops.aten.max_pool2d_with_indices(c.tensor((2, 2, 4, 5), dtype), [2, 2])
        c.call("max_unpool2d", values, indices, [4, 5])
        c.call("max_unpool2d", values[0], indices[0], [5, 4])
        values, indices = torch.ops.aten.max_pool3d_with_indices(c.tensor((1, 2, 2, 4, 3), dtype), [2, 2, 1])
        c.call("max_unpool3d", values, indices, [2, 4, 3], [2, 2, 1], [0, 0, 0])
    c.error("max_unpool2d", c.tensor((1, 1, 2)), torch.tensor([[[0, 16]]]), [4, 4])
    c.error("max_unpool2d", c.tensor((1, 1, 2)), torch.tensor([[0, 3]]), [4, 4])


def cases(c):
    undone(c)
    largest(c)
    averages(c)
    adaptive(c)
