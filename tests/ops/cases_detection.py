"""torchvision's operators: suppression of boxes, pooling of regions, deformable convolution."""

import torch
import torchvision.ops  # registers them

TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.float64: (1e-9, 1e-9)}


def boxes(c, count, size, dtype=torch.float32):
    corner = c.tensor((count, 2), dtype, 0, size)
    return torch.cat([corner, corner + c.tensor((count, 2), dtype, 1, size)], 1)


def suppression(c):
    for dtype in TOLERANCE:
        for threshold in (0.0, 0.3, 0.7):
            c.call("torchvision::nms", boxes(c, 9, 8, dtype), c.tensor((9,), dtype), threshold)
    c.comment("equal scores keep their order, a NaN is the best, an overlap of exactly the threshold stays")
    same = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6], [0, 0, 2, 1]])
    c.call("torchvision::nms", same, torch.tensor([0.5, 0.5, 0.5, 0.5]), 0.5)
    c.call("torchvision::nms", same, torch.tensor([0.1, 0.7, float("nan"), 0.2]), 0.5)
    c.call("torchvision::nms", torch.zeros(0, 4), torch.zeros(0), 0.5)
    c.error("torchvision::nms", torch.zeros(3, 5), torch.zeros(3), 0.5)
    c.error("torchvision::nms", torch.zeros(3, 4), torch.zeros(2), 0.5)


def regions(c):
    for dtype, tol in TOLERANCE.items():
        image, cells = c.tensor((2, 12, 7, 6), dtype), boxes(c, 4, 16, dtype)
        rois = torch.cat([torch.tensor([[0.0], [1], [1], [0]], dtype=dtype), cells - 3], 1)
        for ratio in (0, 2):
            for aligned in (False, True):
                c.call("torchvision::roi_align", image[:, :2].contiguous(), rois, 0.5, 2, 3, ratio, aligned, tol=tol)
            c.call("torchvision::ps_roi_align", image, rois, 0.4, 2, 3, ratio, tol=tol)
        c.call("torchvision::roi_pool", image[:, :2].contiguous(), rois, 0.5, 2, 3)
        c.call("torchvision::ps_roi_pool", image, rois, 0.4, 3, 2, tol=tol)
    c.comment("no regions, an empty region, an image that does not exist")
    for name, more in (("roi_align", (2, True)), ("roi_pool", ()), ("ps_roi_align", (2,)), ("ps_roi_pool", ())):
        c.call("torchvision::" + name, c.tensor((1, 4, 3, 3)), torch.zeros(0, 5), 1.0, 2, 2, *more)
        c.call("torchvision::" + name, c.tensor((1, 4, 3, 3)), torch.tensor([[0.0, 2, 2, 2, 2]]), 1.0, 2, 2, *more, tol=TOLERANCE[torch.float32])
    c.lines.append("torchvision::roi_pool f32[1,1,2,2]{1 2 3 4} f32[1,5]{1 0 0 1 1} 1.0 2 2 -> error")


def deformable(c):
    for dtype, tol in TOLERANCE.items():
        for groups, offsets, mask in ((1, 1, True), (2, 2, True), (2, 1, False)):
            x, weight, bias = c.tensor((2, 4, 6, 5), dtype), c.tensor((2, 4 // groups, 3, 2), dtype), c.tensor((2,), dtype)
            rows, columns = (6 + 2 - 3) // 2 + 1, 5 - 2 + 1 - 1
            places = (2, offsets * 6, rows, columns)
            weighed = c.tensor(places, dtype, 0, 1) if mask else torch.zeros((2, 1), dtype=dtype)
            offset = c.tensor((2, 2 * offsets * 6, rows, columns), dtype)
            c.call("torchvision::deform_conv2d", x, weight, offset, weighed, bias, 2, 1, 1, 0, 1, 2, groups, offsets, mask, tol=tol)


def cases(c):
    suppression(c)
    regions(c)
    deformable(c)
