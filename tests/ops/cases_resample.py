"""Upsampling by size and by factor, sampling at the points of a grid, affine grids."""

import torch

TOLERANCE = {torch.float32: (1e-5, 2e-5), torch.float64: (1e-8, 1e-8), torch.float16: (5e-3, 1e-2), torch.bfloat16: (3e-2, 5e-2)}


def upsampling(c):
    for name, spatial, aligns in (("upsample_nearest", 1, 0), ("upsample_nearest", 2, 0), ("upsample_nearest", 3, 0),
                                  ("_upsample_nearest_exact", 1, 0), ("_upsample_nearest_exact", 2, 0),
                                  ("_upsample_nearest_exact", 3, 0), ("upsample_linear", 1, 1), ("upsample_bilinear", 2, 1),
                                  ("upsample_trilinear", 3, 1), ("upsample_bicubic", 2, 1), ("_upsample_bilinear2d_aa", 2, 1),
                                  ("_upsample_bicubic2d_aa", 2, 1)):
        row = name if name.endswith("_aa") else f"{name}{spatial}d"
        c.comment(row)
        for corners in ([False], [True]) if aligns else ([],):
            for dtype in (torch.float32, torch.float64, torch.bfloat16):
                if name.endswith("_aa") and dtype == torch.bfloat16:
                    continue
                tol = TOLERANCE[dtype]
                x = c.tensor((1, 2, 4, 3, 2)[:spatial + 2], dtype)
                c.call(row, x, [7, 5, 3][:spatial], *corners, tol=tol)
                c.call(row + ".vec", x, [2, 4, 5][:spatial], *corners, None, tol=tol)
                c.call(row + ".vec", x, None, *corners, [1.5, 2.5, 2.0][:spatial], tol=tol)
                c.call(row, x, [6, 6, 4][:spatial], *corners, *[1.6, 2.1, 2.3][:spatial], tol=tol)
            c.call(row + ".vec", c.tensor((1, 1, 3, 3, 3)[:spatial + 2]), None, *corners, [1.3] * spatial, tol=TOLERANCE[torch.float32])
            c.call(row, c.tensor((2, 1, 2, 3, 4)[:spatial + 2]), [4, 6, 8][:spatial], *corners, tol=TOLERANCE[torch.float32])
    c.comment("layouts, bytes, what does not fit")
    x = c.tensor((1, 3, 2, 4)).to(memory_format=torch.channels_last)
    c.call("upsample_bilinear2d.vec", x, None, False, [2.0, 2.0], layout=True, tol=TOLERANCE[torch.float32])
    c.call("upsample_nearest2d.vec", x, [3, 3], None, layout=True)
    c.call("upsample_nearest2d", c.tensor((1, 1, 2, 3), torch.uint8, 0, 200), [4, 5])
    for row in ("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        for corners in (False, True):
            for channels in (1, 5):
                for size in ([7, 9], [2, 3], [4, 9]):
                    c.call(row, c.tensor((1, channels, 4, 6), torch.uint8, 0, 256), size, corners)
    c.call("upsample_nearest2d", c.tensor((0, 1, 2, 3)), [4, 5])
    c.error("upsample_nearest2d", c.tensor((1, 2, 3)), [4, 5])
    c.error("upsample_nearest2d", x, [4])
    c.error("upsample_nearest2d", x, [0, 4])
    c.error("upsample_bilinear2d.vec", x, None, False, [2.0])
    c.error("upsample_bilinear2d", c.tensor((1, 2, 0, 3)), [4, 5], False)


def grids(c):
    c.comment("grids: interpolation, padding, corners")
    for dtype in (torch.float32, torch.float64):
        for padding in (0, 1, 2):
            for corners in (False, True):
                image, grid = c.tensor((1, 2, 3, 4), dtype), c.tensor((1, 2, 3, 2), dtype, -1.6, 1.6)
                for mode in (0, 1, 2):
                    c.call("grid_sampler_2d", image, grid, mode, padding, corners, tol=(1e-4, 1e-4))
                volume, points = c.tensor((1, 1, 3, 2, 4), dtype), c.tensor((1, 1, 2, 3, 3), dtype, -1.6, 1.6)
                for mode in (0, 1):
                    c.call("grid_sampler_3d", volume, points, mode, padding, corners, tol=(1e-4, 1e-4))
    c.call("grid_sampler_2d", c.tensor((1, 2, 1, 1)), c.tensor((1, 1, 2, 2)), 0, 2, True, tol=(1e-4, 1e-4))
    c.call("grid_sampler_2d", c.tensor((0, 2, 3, 3)), c.tensor((0, 1, 2, 2)), 0, 0, True)
    c.error("grid_sampler_2d", c.tensor((1, 2, 3, 3)), c.tensor((2, 1, 2, 2)), 0, 0, False)
    c.error("grid_sampler_2d", c.tensor((1, 2, 3, 3)), c.tensor((1, 1, 2, 3)), 0, 0, False)
    for corners in (False, True):
        c.call("affine_grid_generator", c.tensor((2, 2, 3)), [2, 1, 3, 2], corners, tol=(1e-5, 1e-5))
        c.call("affine_grid_generator", c.tensor((1, 3, 4)), [1, 1, 2, 1, 3], corners, tol=(1e-5, 1e-5))
    c.error("affine_grid_generator", c.tensor((1, 2, 3)), [1, 1, 2, 2, 3], False)


def cases(c):
    upsampling(c)
    grids(c)
