"""Gradients of convolutions, pools, norms and tables."""

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


def averages(c):
    for dtype in (torch.float32, torch.float64):
        for shape, kernel, stride, padding, ceil, inside, divisor in (((2, 3, 5, 6), [2, 3], [2, 1], [1, 1], False, True, None), ((1, 2, 6, 6), [3, 3], [2, 2], [1, 0], True, False, None),
                                                                      ((2, 5, 4), [2, 2], [], [0, 0], False, True, None), ((1, 1, 7, 5), [3, 2], [2, 2], [1, 1], True, True, 5)):
            x = c.tensor(shape, dtype)
            out = torch.ops.aten.avg_pool2d(x, kernel, stride, padding, ceil, inside, divisor)
            c.call("avg_pool2d_backward", c.tensor(out.shape, dtype), x, kernel, stride, padding, ceil, inside, divisor)
        for shape, size in (((2, 3, 7, 5), (3, 2)), ((1, 4, 4), (4, 1)), ((1, 1, 3, 2), (5, 3))):
            c.call("_adaptive_avg_pool2d_backward", c.tensor((*shape[:-2], *size), dtype), c.tensor(shape, dtype))
    c.error("avg_pool2d_backward", c.tensor((1, 1, 9, 9)), c.tensor((1, 1, 4, 4)), [2, 2], [2, 2], [0, 0], False, True, None)
    c.error("_adaptive_avg_pool2d_backward", c.tensor((2, 2)), c.tensor((3, 2, 2)))


def norms(c):
    for dtype in (torch.float32, torch.float64):
        for shape, tail in (((2, 3, 4), 1), ((3, 2, 4), 2), ((5,), 1)):
            x, g = c.tensor(shape, dtype), c.tensor(shape, dtype)
            w, b = c.tensor(shape[-tail:], dtype), c.tensor(shape[-tail:], dtype)
            _, mean, scale = torch.ops.aten.native_layer_norm(x, shape[-tail:], w, b, 1e-5)
            c.call("native_layer_norm_backward", g, x, list(shape[-tail:]), mean, scale, w, b, MASK)
        for shape, groups in (((2, 6, 4), 3), ((1, 4, 2, 3), 1), ((3, 4, 5), 4)):
            x, g, w, b = c.tensor(shape, dtype), c.tensor(shape, dtype), c.tensor((shape[1],), dtype), c.tensor((shape[1],), dtype)
            points = x[0, 0].numel()
            _, mean, scale = torch.ops.aten.native_group_norm(x, w, b, shape[0], shape[1], points, groups, 1e-5)
            c.call("native_group_norm_backward", g, x, mean, scale, w, shape[0], shape[1], points, groups, MASK)
    x = c.tensor((2, 4, 3))
    c.error("native_layer_norm_backward", x, x, [4], c.tensor((2, 4, 1)), c.tensor((2, 4, 1)), None, None, MASK)
    c.error("native_group_norm_backward", x, x, c.tensor((2, 3)), c.tensor((2, 3)), None, 2, 4, 3, 3, MASK)


def tables(c):
    for dtype in (torch.float32, torch.float64):
        for padding, by_count in ((-1, False), (2, False), (-1, True)):
            c.call("embedding_dense_backward", c.tensor((2, 3, 4), dtype), torch.tensor([[0, 2, 4], [2, 2, 0]]), 5, padding, by_count)


def cases(c):
    for part in (convolutions, pools, averages, norms, tables):
        part(c)
