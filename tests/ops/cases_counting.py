"""Counting, segments, and losses over classes."""

import torch

NAN, INF = float("nan"), float("inf")


def counts(c):
    c.comment("bincount")
    for dtype in (torch.int64, torch.int32, torch.uint8):
        x = torch.tensor([1, 4, 1, 0, 4, 4]).to(dtype)
        c.call("bincount", x)
        c.call("bincount", x, minlength=7)
        c.call("bincount", x, c.tensor((6,)))
        c.call("bincount", x, c.tensor((6,), torch.int32, 0, 9), 2)
    c.call("bincount", torch.tensor([], dtype=torch.int64), minlength=3)
    c.error("bincount", torch.tensor([1, -1]))
    c.error("bincount", torch.tensor([[1, 1]]))
    c.comment("histogram")
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor([[1.0, 2.0, 1.0], [0.0, 3.0, 2.5]]).to(dtype)
        for bins in (1, 3, 6):
            c.call("histogram.bin_ct", x, bins)
            c.call("histogram.bin_ct", x, bins, range=[0.5, 2.5], weight=c.tensor((2, 3), dtype), density=False)
        c.call("histogram.bin_ct", x, 4, density=True)
        c.call("histogram.bin_ct", torch.full((3,), 2.0, dtype=dtype), 2)
        c.call("histogram.bin_ct", torch.zeros((0,), dtype=dtype), 2)
        edges = torch.tensor([0.0, 1.0, 1.5, 3.0]).to(dtype)
        c.call("histogram.bins_tensor", x, edges)
        c.call("histogram.bins_tensor", torch.tensor([NAN, INF, 3.0, 0.0, -1.0]).to(dtype), edges)
        c.call("histogram.bins_tensor", x, edges, weight=c.tensor((2, 3), dtype), density=True)
    c.error("histogram.bin_ct", torch.tensor([1, 2]), 2)


def segments(c):
    c.comment("segment_reduce")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        tol = (2e-2, 1e-2) if dtype in (torch.float16, torch.bfloat16) else None
        x, lengths = c.tensor((6, 3), dtype), torch.tensor([1, 0, 3, 2])
        for how in ("sum", "mean", "max", "min", "prod"):
            c.call("segment_reduce", x, how, lengths=lengths, unsafe=True, tol=tol)
            c.call("segment_reduce", x, how, lengths=lengths, initial=1.5, tol=tol)
            c.call("segment_reduce", x, how, offsets=torch.tensor([0, 2, 2, 6]), tol=tol)
    x = c.tensor((2, 4, 2))
    c.call("segment_reduce", x, "sum", lengths=torch.tensor([[1, 3], [2, 2]]), axis=1)
    c.call("segment_reduce", torch.tensor([1.0, NAN, 3.0]), "max", lengths=torch.tensor([2, 1]))
    c.error("segment_reduce", x, "sum", lengths=torch.tensor([1, 5]))
    c.error("segment_reduce", x, "median", lengths=torch.tensor([1, 1]))
    c.error("segment_reduce", x, "sum")


def losses(c):
    c.comment("losses over classes")
    for reduction in (0, 1, 2):
        for dtype in (torch.float32, torch.float64):
            x = c.tensor((3, 4), dtype)
            target = torch.tensor([1, 3, 0])
            c.call("multi_margin_loss", x, target, 1, 1, None, reduction)
            c.call("multi_margin_loss", x, target, 2, 0.5, c.tensor((4,), dtype, 0, 2), reduction)
            c.call("multi_margin_loss", x[0], target[:1], 1, 1, None, reduction)
            labels = torch.tensor([[1, 3, -1, 0], [-1, 0, 1, 2], [0, 1, 2, 3]])
            c.call("multilabel_margin_loss", x, labels, reduction)
            c.call("multilabel_margin_loss", x[0], labels[0], reduction)
    c.error("multi_margin_loss", c.tensor((3, 4)), torch.tensor([1, 4, 0]))
    c.error("multilabel_margin_loss", c.tensor((1, 2)), torch.tensor([[2, -1]]))


def rows(c):
    c.comment("embedding_renorm")
    for dtype in (torch.float32, torch.float64):
        for norm in (1.0, 2.0, INF):
            c.call("embedding_renorm", c.tensor((4, 3), dtype), torch.tensor([[0, 2], [2, 0]]), 1.0, norm)
    c.error("embedding_renorm", c.tensor((4, 3)), torch.tensor([4]), 1.0, 2.0)


def cases(c):
    for part in (counts, segments, losses, rows):
        part(c)
