"""Gradients of convolutions and of max pooling: strides, padding, dilation, groups, transposed, one to three dimensions."""

import torch

MASK = [True, True, True]


def convolutions(c):
    for x, w, stride, padding, dilation, groups in (((2, 4, 5), (6, 2, 3), [2], [1], [1], 2), ((1, 2, 4, 5), (3, 2, 2, 3), [1, 2], [0, 1], [1, 1], 1),
                                                    ((1, 2, 5, 5), (2, 1, 3, 2), [1, 1], [1, 0], [2, 1], 2),
                                                    ((1, 1, 3, 3, 3), (2, 1, 2, 2, 2), [1, 1, 1], [0, 1, 0], [1, 1, 1], 1)):
        inputs = c.tensor(x), c.tensor(w)
        out = torch.ops.aten.convolution(*inputs, None, stride, padding, dilation, False, [0] * len(stride), groups)
        c.call("convolution_backward", c.tensor(out.shape), *inputs, [w[0]], stride, padding, dilation, False, [0] * len(stride), groups, MASK)
    for x, w, stride, padding, extra, groups in (((1, 2, 3, 3), (2, 3, 2, 2), [2, 2], [0, 1], [1, 0], 1), ((2, 4, 3), (4, 2, 3), [2], [1], [0], 2)):
        inputs = c.tensor(x), c.tensor(w)
        out = torch.ops.aten.convolution(*inputs, None, stride, padding, [1] * len(stride), True, extra, groups)
        c.call("convolution_backward", c.tensor(out.shape), *inputs, [out.shape[1]], stride, padding, [1] * len(stride), True, extra, groups, MASK)
    c.error("convolution_backward", c.tensor((1, 3, 2, 2)), c.tensor((1, 2, 3, 3)), c.tensor((3, 1, 2, 2)), [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, MASK)


def pools(c):
    for shape, kernel, stride, padding, dtype in (((1, 2, 5, 4), [2, 2], [1, 1], [0, 0], torch.float32), ((2, 4, 5), [3, 2], [2, 2], [1, 1], torch.float64)):
        x = c.tensor(shape, dtype)
        out, indices = torch.ops.aten.max_pool2d_with_indices(x, kernel, stride, padding)
        c.call("max_pool2d_with_indices_backward", c.tensor(out.shape, dtype), x, kernel, stride, padding, [1, 1], False, indices)


def cases(c):
    convolutions(c)
    pools(c)
