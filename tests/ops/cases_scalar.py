"""Numbers: symbolic sizes and prims. Python itself is the reference."""

import math

import torch

PAIRS = [(7, 2), (-7, 2), (7, -2), (6, 3), (0, 5), (7.5, 2), (-7.5, 2.0), (3, 0.5), (-1, 4)]


def cases(c):
    c.call("sym_size.int", c.tensor((2, 5)), 1)
    c.call("sym_size.int", c.tensor((2, 5)), -2)
    c.given("aten::sym_numel", [c.tensor((2, 5))], [10])
    for value, dtype in ((7, torch.int32), (1.5, torch.float16), (True, torch.bool), (2**60 + 1, torch.int64)):
        c.given("aten::_local_scalar_dense", [torch.tensor([value], dtype=dtype)], [value])
    prim = "executorch_prim::"
    for a, b in PAIRS:
        c.given(prim + "add.Scalar", [a, b], [a + b])
        c.given(prim + "sub.Scalar", [a, b], [a - b])
        c.given(prim + "mul.Scalar", [a, b], [a * b])
        c.given(prim + "floordiv.Scalar", [a, b], [a // b])
        c.given(prim + "mod.Scalar", [a, b], [a % b])
        c.given(prim + "truediv.Scalar", [a, b], [a / b])
        c.given(prim + "eq.Scalar", [a, b], [a == b])
        c.given(prim + "ne.Scalar", [a, b], [a != b])
        c.given(prim + "lt.Scalar", [a, b], [a < b])
        c.given(prim + "le.Scalar", [a, b], [a <= b])
        c.given(prim + "gt.Scalar", [a, b], [a > b])
        c.given(prim + "ge.Scalar", [a, b], [a >= b])
        if isinstance(a, type(b)):
            c.given(prim + "sym_max.Scalar", [a, b], [max(a, b)])
            c.given(prim + "sym_min.Scalar", [a, b], [min(a, b)])
    c.given(prim + "pow.Scalar", [3, 4], [81])
    c.given(prim + "pow.Scalar", [2, -1], [0.5])
    c.given(prim + "neg.Scalar", [3], [-3])
    c.given(prim + "neg.Scalar", [3.5], [-3.5])
    for value in (2.5, -2.5, 3.5, 2.1, 7.0):
        c.given(prim + "ceil.Scalar", [value], [math.ceil(value)])
        c.given(prim + "floor.Scalar", [value], [math.floor(value)])
        c.given(prim + "round.Scalar", [value], [round(value)])
        c.given(prim + "trunc.Scalar", [value], [math.trunc(value)])
        c.given(prim + "sym_int.Scalar", [value], [int(value)])
    c.given(prim + "sym_float.Scalar", [3], [3.0])
    c.given(prim + "sym_sqrt.Scalar", [9], [3.0])
    c.given(prim + "sym_not.Scalar", [True], [False])
    c.given(prim + "and.Scalar", [True, False], [False])
    c.given(prim + "or.Scalar", [True, False], [True])
    c.given(prim + "sym_ite.Scalar", [True, 1, 2.5], [1])
    c.given(prim + "sym_ite.Scalar", [False, 1, 2.5], [2.5])
    c.lines.append(prim + "floordiv.Scalar 1 0 -> error")
    c.lines.append(prim + "mod.int 1 0 -> error")
    c.lines.append("aten::_local_scalar_dense f32[2]{1 2} -> error")
    c.lines.append("aten::sym_size.int f32[2]{1 2} 1 -> error")
