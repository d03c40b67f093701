"""Matrix products: shapes, empty sides, dtypes, scaled sums, broadcasting, shapes that do not fit."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.float64: (1e-9, 1e-9), torch.float16: (5e-3, 2e-2), torch.bfloat16: (3e-2, 1e-1)}


def matrices(c):
    c.comment("mm, bmm, addmm, baddbmm")
    for dtype in FLOATS + INTS:
        tol = TOLERANCE.get(dtype)
        c.call("mm", c.tensor((2, 3), dtype), c.tensor((3, 4), dtype), tol=tol)
        c.call("bmm", c.tensor((2, 2, 3), dtype), c.tensor((2, 3, 2), dtype), tol=tol)
        c.call("addmm", c.tensor((4,), dtype), c.tensor((2, 3), dtype), c.tensor((3, 4), dtype), beta=2, alpha=3, tol=tol)
        c.call("baddbmm", c.tensor((2, 1, 2), dtype), c.tensor((2, 2, 3), dtype), c.tensor((2, 3, 2), dtype), tol=tol)
    for m, k, n in ((1, 1, 1), (0, 3, 2), (2, 0, 3), (2, 3, 0), (7, 17, 9), (33, 5, 18)):
        c.call("mm", c.tensor((m, k)), c.tensor((k, n)), tol=TOLERANCE[torch.float32])
    for shape in ((), (1,), (4,), (2, 1), (1, 4), (2, 4)):
        c.call("addmm", c.tensor(shape), c.tensor((2, 3)), c.tensor((3, 4)), tol=TOLERANCE[torch.float32])
    c.call("addmm", torch.full((4,), float("nan")), c.tensor((2, 3)), c.tensor((3, 4)), beta=0, tol=TOLERANCE[torch.float32])
    c.call("addmm", c.tensor((2, 4)), c.tensor((2, 3)), c.tensor((3, 4)), beta=0.5, alpha=-0.25, tol=TOLERANCE[torch.float32])
    c.call("addmm", c.tensor((4,)), c.tensor((2, 0)), c.tensor((0, 4)), beta=0.5)
    c.call("bmm", c.tensor((0, 2, 3)), c.tensor((0, 3, 2)))
    c.call("mm", torch.tensor([[2**62, 2**62]]), torch.tensor([[3], [5]]))
    c.error("mm", c.tensor((2, 3)), c.tensor((4, 2)))
    c.error("mm", c.tensor((2, 3)), c.tensor((3,)))
    c.error("mm", c.tensor((2, 3)), c.tensor((3, 2), torch.float64))
    c.error("bmm", c.tensor((2, 2, 3)), c.tensor((3, 3, 2)))
    c.error("addmm", c.tensor((3,)), c.tensor((2, 3)), c.tensor((3, 4)))
    c.error("addmm", c.tensor((1, 2, 4)), c.tensor((2, 3)), c.tensor((3, 4)))


def vectors(c):
    c.comment("mv, dot, vdot")
    for dtype in FLOATS + INTS[:2]:
        tol = TOLERANCE.get(dtype)
        c.call("mv", c.tensor((2, 5), dtype), c.tensor((5,), dtype), tol=tol)
        c.call("dot", c.tensor((5,), dtype), c.tensor((5,), dtype), tol=tol)
        c.call("vdot", c.tensor((3,), dtype), c.tensor((3,), dtype), tol=tol)
    c.call("mv", c.tensor((2, 0)), c.tensor((0,)))
    c.call("dot", c.tensor((0,)), c.tensor((0,)))
    c.error("dot", c.tensor((2,)), c.tensor((3,)))
    c.error("dot", c.tensor((2, 2)), c.tensor((2,)))
    c.error("mv", c.tensor((2, 3)), c.tensor((2,)))


def batches(c):
    c.comment("matmul: vectors, broadcast batches")
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)), ((2, 1, 3, 4), (5, 4, 2)),
                 ((5, 2, 3), (3, 2)), ((2, 3), (5, 3, 2)), ((0, 2, 3), (3, 2)), ((2, 0), (0, 2))):
        c.call("matmul", c.tensor(a), c.tensor(b), tol=TOLERANCE[torch.float32])
    for dtype in FLOATS[1:] + INTS[:2]:
        c.call("matmul", c.tensor((2, 1, 2, 3), dtype), c.tensor((3, 3, 2), dtype), tol=TOLERANCE.get(dtype))
    c.error("matmul", c.tensor((2, 3)), c.tensor((2, 3)))
    c.error("matmul", c.tensor(()), c.tensor((3,)))
    c.error("matmul", c.tensor((2, 2, 3)), c.tensor((3, 3, 2)))


def linear(c):
    c.comment("linear")
    for dtype in FLOATS:
        c.call("linear", c.tensor((2, 2, 3), dtype), c.tensor((4, 3), dtype), c.tensor((4,), dtype), tol=TOLERANCE[dtype])
    c.call("linear", c.tensor((3,)), c.tensor((4, 3)), None, tol=TOLERANCE[torch.float32])
    c.call("linear", c.tensor((5, 3)), c.tensor((1, 3)), c.tensor((1,)), tol=TOLERANCE[torch.float32])
    c.call("linear", c.tensor((2, 3)), c.tensor((3,)), None, tol=TOLERANCE[torch.float32])
    c.call("linear", c.tensor((0, 3)), c.tensor((4, 3)), c.tensor((4,)))
    c.call("linear", c.tensor((2, 0)), c.tensor((4, 0)), c.tensor((4,)))
    c.call("linear", c.tensor((3, 37)), c.tensor((35, 37)), c.tensor((35,)), tol=TOLERANCE[torch.float32])
    c.error("linear", c.tensor((2, 3)), c.tensor((4, 2)), None)
    c.error("linear", c.tensor((2, 3)), c.tensor((4, 3)), c.tensor((3,)))
    c.error("linear", c.tensor((2, 3)), c.tensor((4, 3), torch.float16), None)


def cases(c):
    matrices(c)
    vectors(c)
    batches(c)
    linear(c)
