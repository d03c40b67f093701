"""Distances, cross products, Fourier transforms, losses over classes."""

import torch

INF = float("inf")


def distances(c):
    c.comment("distances")
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, INF):
        c.call("_cdist_forward", c.tensor((3, 2)), c.tensor((4, 2)), p, None, tol=(1e-5, 1e-5))
        c.call("_pdist_forward", c.tensor((4, 3)), p, tol=(1e-5, 1e-5))
    c.call("_cdist_forward", c.tensor((2, 1, 3, 2), torch.float64), c.tensor((3, 2, 2), torch.float64), 2.0, 1, tol=(1e-8, 1e-8))
    c.call("_cdist_forward", c.tensor((0, 2)), c.tensor((4, 2)), 2.0, None)
    c.call("_cdist_forward", c.tensor((3, 0)), c.tensor((4, 0)), 2.0, None)
    c.call("_pdist_forward", c.tensor((1, 3)), 2.0)
    c.error("_cdist_forward", c.tensor((3, 2)), c.tensor((4, 3)), 2.0, None)
    c.error("_cdist_forward", c.tensor((3, 2)), c.tensor((4, 2)), -1.0, None)
    c.comment("cross products")
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.complex64):
        tol = (3e-2, 1e-1) if dtype == torch.bfloat16 else (1e-5, 1e-5) if dtype.is_floating_point or dtype.is_complex else None
        c.call("linalg_cross", c.tensor((2, 3), dtype), c.tensor((1, 3), dtype), tol=tol)
    c.call("cross", c.tensor((2, 3, 2)), c.tensor((2, 3, 2)), tol=(1e-5, 1e-5))
    c.call("cross", c.tensor((3, 3)), c.tensor((3, 3)), tol=(1e-5, 1e-5))
    c.call("cross", c.tensor((3, 3)), c.tensor((3, 3)), -1, tol=(1e-5, 1e-5))
    c.call("linalg_cross", c.tensor((0, 3)), c.tensor((0, 3)))
    c.error("linalg_cross", c.tensor((2, 2)), c.tensor((2, 2)))
    c.error("cross", c.tensor((2, 2)), c.tensor((2, 2)))


def transforms(c):
    c.comment("Fourier transforms")
    tol = (1e-5, 2e-5)
    for shape, dims in (((8,), [0]), ((5,), [0]), ((2, 6), [1]), ((6, 3), [0]), ((2, 4, 3), [2, 0]), ((1,), [0]), ((7, 2), [0])):
        for normalization in (0, 1, 2):
            c.call("_fft_r2c", c.tensor(shape), dims, normalization, True, tol=tol)
            c.call("_fft_c2c", c.tensor(shape, torch.complex64), dims, normalization, normalization != 1, tol=tol)
        c.call("_fft_r2c", c.tensor(shape, torch.float64), dims, 0, False, tol=(1e-9, 1e-9))
        for size in (2 * shape[dims[-1]] - 1, 2 * shape[dims[-1]] - 2):
            if size > 0:
                spectrum = torch.ops.aten._fft_r2c(c.tensor(shape[:dims[-1]] + (size,) + shape[dims[-1] + 1:]), dims, 0, True)
                c.call("_fft_c2r", spectrum, dims, 2, size, tol=tol)
    c.error("_fft_r2c", c.tensor((4,), torch.complex64), [0], 0, True)
    c.error("_fft_c2c", c.tensor((4,), torch.complex64), [1], 0, True)


def losses(c):
    c.comment("losses over classes")
    for reduction in (0, 1, 2):
        for weight in (None, c.tensor((3,), low=0.1, high=2)):
            c.call("nll_loss_forward", c.tensor((4, 3)), torch.tensor([0, 2, 1, 2]), weight, reduction, -100, tol=(1e-5, 1e-5))
            c.call("nll_loss_forward", c.tensor((4, 3)), torch.tensor([0, 2, 1, 2]), weight, reduction, 2, tol=(1e-5, 1e-5))
            c.call("nll_loss2d_forward", c.tensor((2, 3, 2, 2)), torch.tensor([[[0, 2], [1, 1]], [[2, 2], [0, 0]]]), weight, reduction, 1,
                   tol=(1e-5, 1e-5))
    c.call("nll_loss_forward", c.tensor((3,)), torch.tensor(1), None, 1, -100)
    c.call("nll_loss_forward", c.tensor((2, 3)), torch.tensor([1, 1]), None, 1, 1)
    c.error("nll_loss_forward", c.tensor((2, 3)), torch.tensor([0, 3]), None, 1, -100)
    c.error("nll_loss_forward", c.tensor((2, 3)), torch.tensor([0, 1, 2]), None, 1, -100)


def cases(c):
    distances(c)
    transforms(c)
    losses(c)
