"""Pointwise operators: every dtype, promotion, broadcasting, edge values, layouts."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
EDGES = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 100.0, -100.0, 1e-30, 3.0, -3.0]


def edges(dtype):
    return torch.tensor(EDGES, dtype=dtype)


def binary_arithmetic(c):
    c.comment("two operands: dtypes, promotion, broadcasting")
    for name in ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum", "remainder.Tensor", "fmod.Tensor",
                 "floor_divide", "pow.Tensor_Tensor", "rsub.Tensor"):
        low = 1 if name.startswith(("pow", "floor", "rem", "fmod", "div")) else -3
        for dtype in FLOATS + INTS:
            c.call(name, c.tensor((2, 3), dtype, max(low, 0 if dtype == torch.uint8 else low), 6), c.tensor((3,), dtype, 1, 4), layout=True)
        c.call(name, c.tensor((2, 1, 3), torch.float32, 1, 4), c.tensor((4, 1), torch.int32, 1, 4))
        c.call(name, c.tensor((3,), torch.float16, 1, 4), c.tensor((), torch.float32, 1, 4))
        c.call(name, c.tensor((3,), torch.int32, 1, 4), c.tensor((), torch.float64, 1, 4))
        c.call(name, c.tensor((3,), torch.int8, 1, 4), c.tensor((), torch.int64, 1, 4))
        c.call(name, c.tensor((), torch.bfloat16, 1, 4), c.tensor((), torch.float16, 1, 4))
        c.call(name, c.tensor((0, 3), torch.float32), c.tensor((1, 3), torch.float32))
        c.error(name, c.tensor((2, 3)), c.tensor((2,)))
    for name in ("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "remainder.Scalar", "fmod.Scalar", "floor_divide.Scalar",
                 "pow.Tensor_Scalar", "rsub.Scalar"):
        for dtype in FLOATS + INTS:
            c.call(name, c.tensor((2, 3), dtype, 1, 6), 2)
            c.call(name, c.tensor((2, 3), dtype, 1, 6), 0.7)
    c.call("add.Tensor", c.tensor((2, 3)), c.tensor((2, 3)), alpha=2.5)
    c.call("sub.Tensor", c.tensor((2, 3), torch.int32), c.tensor((2, 3), torch.int32), alpha=3)
    c.call("add.Tensor", c.tensor((2, 3), torch.bool), c.tensor((2, 3), torch.bool))
    c.call("mul.Tensor", c.tensor((2, 3), torch.bool), c.tensor((2, 3), torch.bool))
    c.call("mul.Tensor", c.tensor((2, 3), torch.bool), c.tensor((2, 3)))
    c.call("add.Tensor", torch.tensor([2**62, -(2**63), 2**53 + 1]), torch.tensor([2**62, -1, 1]))
    c.call("mul.Tensor", torch.tensor([2**40 + 1, -(2**63)]), torch.tensor([2**40 + 3, -1]))
    c.call("add.Tensor", torch.tensor([100, -100], dtype=torch.int8), torch.tensor([100, -100], dtype=torch.int8))
    c.call("mul.Tensor", torch.tensor([200, 16], dtype=torch.uint8), torch.tensor([200, 16], dtype=torch.uint8))
    for name in ("add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor"):
        c.call(name, torch.tensor([1 + 2j, -3 + 0.5j]), torch.tensor([0.25 - 1j, 2j]))


def divisions(c):
    c.comment("division, remainders, powers at their edges")
    a = torch.tensor([-7, 7, -7, 7, 6, -6, 0])
    b = torch.tensor([2, 2, -2, -2, 3, 3, -5])
    for dtype in (torch.int32, torch.int64, torch.int8, torch.float32, torch.bfloat16):
        for mode in (None, "floor", "trunc"):
            c.call("div.Tensor_mode", a.to(dtype), b.to(dtype), rounding_mode=mode)
        for name in ("remainder.Tensor", "fmod.Tensor", "floor_divide"):
            c.call(name, a.to(dtype), b.to(dtype))
    c.call("div.Scalar_mode", a, 2, rounding_mode="floor")
    c.call("div.Scalar_mode", a.to(torch.float32), 0.3, rounding_mode="trunc")
    c.call("remainder.Scalar_Tensor", 7, torch.tensor([3, -3, 2]))
    for name in ("remainder.Tensor", "fmod.Tensor", "floor_divide", "div.Tensor", "pow.Tensor_Tensor", "atan2"):
        x, y = torch.meshgrid(torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 2.0, -3.0]),
                              torch.tensor([float("inf"), float("-inf"), 0.0, -0.0, 1.5, -2.0]), indexing="ij")
        c.call(name, x.contiguous(), y.contiguous())
    for name in ("remainder.Tensor", "fmod.Tensor", "floor_divide"):
        c.error(name, torch.tensor([1, 2]), torch.tensor([1, 0]))
    c.call("pow.Tensor_Tensor", torch.tensor([1, -1, 2, 0, -1]), torch.tensor([-3, -3, -1, 0, -2]))
    c.error("pow.Tensor_Scalar", torch.tensor([1, 2]), -1)
    c.call("pow.Scalar", 2, c.tensor((3,), torch.int64, 0, 9))
    c.call("pow.Scalar", 2.5, c.tensor((3,)))
    c.call("pow.Tensor_Scalar", c.tensor((4,), torch.float32, 0, 4), 0.5)
    for dtype in (torch.float32, torch.bfloat16):
        c.call("floor_divide", torch.tensor([1.0, 0.3, 1e10, 2.7], dtype=dtype), torch.tensor([0.1, 0.1, 0.1, 0.9], dtype=dtype))


def float_binary(c):
    c.comment("float functions of two operands")
    for name in ("atan2", "hypot", "copysign.Tensor", "logaddexp", "logaddexp2", "xlogy.Tensor", "fmax", "fmin", "special_xlog1py"):
        for dtype in FLOATS:
            if name in ("hypot", "logaddexp", "logaddexp2") and dtype == torch.float16:
                continue
            c.call(name, c.tensor((2, 3), dtype, 0.1, 3), c.tensor((2, 1), dtype, 0.1, 3))
        c.call(name, edges(torch.float32), edges(torch.float32).flip(0))
    for name in ("atan2", "copysign.Tensor", "xlogy.Tensor", "fmax", "fmin"):
        c.call(name, c.tensor((4,), torch.int32, 0, 4), c.tensor((4,), torch.int32, 1, 4))
    c.call("copysign.Scalar", c.tensor((3,)), -1)
    c.call("xlogy.Scalar_Self", 0, torch.tensor([0.0, float("nan"), 2.0]))
    c.call("xlogy.Scalar_Other", c.tensor((3,)), 2)
    c.call("heaviside", torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.5]))
    for name in ("maximum", "minimum", "max.other", "min.other"):
        c.call(name, edges(torch.float32), edges(torch.float32).flip(0))
        c.call(name, c.tensor((3,), torch.bool), c.tensor((3,), torch.bool))


def comparisons(c):
    c.comment("comparisons and logic")
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for dtype in FLOATS + INTS + [torch.bool]:
            c.call(name + ".Tensor", c.tensor((2, 4), dtype, 0, 3), c.tensor((4,), dtype, 0, 3))
            c.call(name + ".Scalar", c.tensor((2, 4), dtype, 0, 3), 1)
        c.call(name + ".Tensor", edges(torch.float32), edges(torch.float32).roll(1))
        c.call(name + ".Scalar", torch.tensor([0.1, 0.2], dtype=torch.bfloat16), 0.1)
        c.call(name + ".Scalar", c.tensor((4,), torch.int32, 0, 3), 1.5)
        c.call(name + ".Tensor", torch.tensor([2**53, 2**53 + 1]), torch.tensor([2**53 + 1, 2**53 + 1]))
        c.call(name + ".Tensor", c.tensor((3, 1), torch.int8, 0, 3), c.tensor((2,), torch.float32, 0, 3))
    for name in ("logical_and", "logical_or", "logical_xor"):
        for dtype in FLOATS + INTS + [torch.bool]:
            c.call(name, c.tensor((2, 4), dtype, 0, 2), c.tensor((4,), torch.int32, 0, 2))
    for dtype in FLOATS + INTS + [torch.bool]:
        c.call("logical_not", c.tensor((5,), dtype, 0, 2))
    for name in ("isnan", "isinf", "isposinf", "isneginf", "isfinite", "signbit"):
        for dtype in FLOATS:
            if name == "isfinite" or not (dtype == torch.bfloat16 and name in ("isposinf", "isneginf", "signbit")):
                c.call(name, edges(dtype))
        c.call(name, c.tensor((4,), torch.int32, -2, 2))


def bits(c):
    c.comment("bits and shifts")
    for name in ("and", "or", "xor"):
        for dtype in INTS + [torch.bool]:
            low = 0 if dtype in (torch.bool, torch.uint8) else -9
            c.call(f"bitwise_{name}.Tensor", c.tensor((2, 4), dtype, low, 9), c.tensor((4,), dtype, low, 9))
        c.call(f"bitwise_{name}.Scalar", c.tensor((4,), torch.int32, -9, 9), 6)
        c.call(f"bitwise_{name}.Scalar_Tensor", 6, c.tensor((4,), torch.int32, -9, 9))
        c.call(f"bitwise_{name}.Tensor", c.tensor((4,), torch.int8, -9, 9), c.tensor((4,), torch.int64, -9, 9))
    for dtype in INTS + [torch.bool]:
        c.call("bitwise_not", c.tensor((4,), dtype, 0, 2))
    for side in ("left", "right"):
        for dtype in INTS:
            values = torch.tensor([1, 5, 100, 0, 77, 3], dtype=dtype)
            c.call(f"bitwise_{side}_shift.Tensor", values, torch.tensor([0, 1, 2, 3, 7, 6], dtype=dtype))
            if dtype != torch.uint8:
                c.call(f"bitwise_{side}_shift.Tensor", -values, torch.tensor([0, 1, 2, 3, 100, -1], dtype=dtype))
        c.call(f"bitwise_{side}_shift.Tensor_Scalar", c.tensor((4,), torch.int32, -9, 9), 2)
        c.call(f"bitwise_{side}_shift.Scalar_Tensor", 64, c.tensor((4,), torch.int32, 0, 5))


def unary(c):
    c.comment("one operand")
    for name in ("abs", "neg", "sign", "sgn", "square", "ceil", "floor", "round", "trunc", "relu"):
        for dtype in FLOATS:
            c.call(name, edges(dtype), layout=True)
        for dtype in INTS:
            c.call(name, c.tensor((2, 3), dtype, 0 if dtype == torch.uint8 else -4, 4))
    c.call("frac", c.tensor((5,)))
    c.call("abs", torch.tensor([3 + 4j, -1j]))
    c.call("neg", torch.tensor([3 + 4j, -1j]))
    c.call("conj_physical", torch.tensor([3 + 4j, -1j]))
    c.call("abs", torch.tensor([-128, -(2**63)]))
    for decimals in (-1, 0, 2):
        c.call("round.decimals", torch.tensor([2.675, 15.0, 25.0, -1.005, 1234.5678]), decimals=decimals)
    for name in ("sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
                 "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "sinc", "erf", "erfc", "erfinv",
                 "lgamma", "digamma", "deg2rad", "rad2deg"):
        for dtype in FLOATS:
            c.call(name, c.tensor((2, 3), dtype, 0.05, 0.95))
            c.call(name, c.tensor((2, 3), dtype, 1, 5))
            c.call(name, c.tensor((2, 3), dtype, -5, 0))
        c.call(name, c.tensor((2, 3), torch.int32, 0, 3))
        c.call(name, c.tensor((3,), torch.bool))
        c.call(name, torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0]))
        c.call(name, c.tensor((0, 2)))
        c.call(name, c.tensor((), torch.float64, 0.1, 0.9))
    for name in ("i0", "special_i0", "special_i0e", "special_i1", "special_i1e", "special_entr", "special_ndtr", "special_ndtri",
                 "special_log_ndtr", "special_erfcx"):
        for dtype in (torch.float32, torch.float64):
            c.call(name, c.tensor((5,), dtype, 0.01, 0.99))
            c.call(name, c.tensor((5,), dtype, -4, 4))
            c.call(name, torch.tensor([0.0, 1.0, 10.0, -10.0, 50.0], dtype=dtype), tol=(1e-5, 1e-7) if dtype == torch.float32 else None)
    for eps in (None, 0.1):
        c.call("logit", torch.tensor([0.0, 0.05, 0.3, 0.95, 1.0, 1.5]), eps)


def activations(c):
    c.comment("activations")
    rows = [("relu6",), ("hardsigmoid",), ("hardswish",), ("silu",), ("mish",), ("log_sigmoid",), ("selu",), ("elu",), ("elu", 0.5, 2, 1.5),
            ("celu", 2.0), ("leaky_relu",), ("leaky_relu", 0.2), ("softplus",), ("softplus", 2, 1), ("softshrink",), ("hardshrink", 0.7),
            ("hardtanh",), ("hardtanh", -2, 0.5), ("threshold", 0.3, 9)]
    for name, *args in rows:
        for dtype in FLOATS:
            c.call(name, c.tensor((3, 4), dtype, -5, 5), *args, layout=True)
        if name != "log_sigmoid":
            c.call(name, torch.tensor([float("nan"), float("inf"), 0.0, -0.0, 3.0, -3.0, 30.0]), *args)
    for dtype in FLOATS:
        for way in ("none", "tanh"):
            c.call("gelu", c.tensor((3, 4), dtype, -5, 5), approximate=way)
    for dtype in (torch.int32, torch.int8):
        c.call("hardtanh", c.tensor((6,), dtype, -5, 5), -2, 3)
        c.call("relu6", c.tensor((6,), dtype, -5, 9))
        c.call("threshold", c.tensor((6,), dtype, -5, 5), 1, 7)
    c.call("prelu", c.tensor((2, 3, 2)), c.tensor((3,)))
    c.call("prelu", c.tensor((2, 3)), c.tensor((1,)))
    c.call("glu", c.tensor((2, 4)), -1)
    c.call("glu", c.tensor((2, 3, 2)), 0)
    c.error("glu", c.tensor((3, 3)), 0)


def selections(c):
    c.comment("choosing and mixing")
    for dtype in FLOATS + INTS + [torch.bool]:
        c.call("where.self", c.tensor((2, 3), torch.bool), c.tensor((3,), dtype, 0, 3), c.tensor((2, 1), dtype, 0, 3), layout=True)
        c.call("masked_fill.Scalar", c.tensor((2, 3), dtype, 0, 3), c.tensor((3,), torch.bool), 1)
    c.call("where.self", c.tensor((3,), torch.bool), c.tensor((3,), torch.int32), c.tensor((3,)))
    c.call("where.self", c.tensor((3,), torch.bool), c.tensor((), torch.float32), c.tensor((3,), torch.float16))
    c.call("where.self", c.tensor((3,), torch.bool), c.tensor((), torch.float32), c.tensor((), torch.int64))
    c.call("where.ScalarOther", c.tensor((3,), torch.bool), c.tensor((3,)), 2)
    c.call("where.ScalarSelf", c.tensor((3,), torch.bool), 2.5, c.tensor((3,), torch.int32))
    c.call("where.Scalar", c.tensor((3,), torch.bool), 2.5, 1)
    c.call("where.Scalar", c.tensor((3,), torch.bool), 2, 1)
    c.call("masked_fill.Tensor", c.tensor((2, 3)), c.tensor((2, 1), torch.bool), torch.tensor(5))
    c.call("masked_fill.Scalar", c.tensor((2, 3)), c.tensor((2, 3), torch.bool), float("-inf"))
    for dtype in FLOATS + INTS:
        c.call("clamp", c.tensor((2, 4), dtype, 0, 9), 2, 6)
        c.call("clamp", c.tensor((2, 4), dtype, 0, 9), None, 6)
        c.call("clamp", c.tensor((2, 4), dtype, 0, 9), 2.5)
        c.call("clamp_min", c.tensor((2, 4), dtype, 0, 9), 3)
        c.call("clamp_max", c.tensor((2, 4), dtype, 0, 9), 3)
        c.call("clamp.Tensor", c.tensor((2, 4), dtype, 0, 9), c.tensor((4,), dtype, 0, 5), c.tensor((2, 1), dtype, 4, 9))
        c.call("clamp_min.Tensor", c.tensor((2, 4), dtype, 0, 9), c.tensor((4,), dtype, 0, 5))
        c.call("clamp_max.Tensor", c.tensor((2, 4), dtype, 0, 9), c.tensor((), dtype, 0, 5))
    c.call("clamp", edges(torch.float32), -2, 2)
    c.call("clamp", c.tensor((4,)), 2, -2)
    c.call("clamp.Tensor", edges(torch.float32), torch.tensor(float("nan")), None)
    c.error("clamp", c.tensor((4,)))
    for dtype in FLOATS:
        c.call("nan_to_num", edges(dtype))
        c.call("nan_to_num", edges(dtype), 1.0, 2.0, -2.0)
        c.call("lerp.Scalar", c.tensor((2, 3), dtype), c.tensor((3,), dtype), 0.3)
        c.call("lerp.Tensor", c.tensor((2, 3), dtype), c.tensor((3,), dtype), c.tensor((2, 1), dtype, 0, 1))
        c.call("addcmul", c.tensor((2, 3), dtype), c.tensor((3,), dtype), c.tensor((2, 1), dtype), value=0.5)
        c.call("addcdiv", c.tensor((2, 3), dtype), c.tensor((3,), dtype), c.tensor((2, 1), dtype, 1, 3), value=2)
    c.call("addcmul", c.tensor((3,), torch.int32), c.tensor((3,), torch.int32), c.tensor((3,), torch.int32), value=2)


def copies(c):
    c.comment("conversions and layouts")
    every = FLOATS + INTS + [torch.bool]
    for source in every:
        x = c.tensor((2, 3), source, 0, 5)
        for target in every:
            c.call("_to_copy", x, dtype=target)
    c.call("_to_copy", edges(torch.float32), dtype=torch.bool)
    c.call("_to_copy", edges(torch.float32), dtype=torch.bfloat16)
    c.call("_to_copy", edges(torch.float64), dtype=torch.float16)
    c.call("_to_copy", torch.tensor([300, -1, 2**40]), dtype=torch.uint8)
    c.call("_to_copy", torch.tensor([300, -1, 2**40, 2**62 + 1]), dtype=torch.float32)
    c.call("_to_copy", torch.tensor([-1.5, 300.7, -200.2]), dtype=torch.int32)
    c.call("_to_copy", torch.tensor([1.5, -2.0]), dtype=torch.complex64)
    x = c.tensor((2, 3, 2, 2))
    c.call("clone", x, memory_format=torch.channels_last, layout=True)
    c.call("clone", x.to(memory_format=torch.channels_last), layout=True)
    c.call("clone", x.to(memory_format=torch.channels_last), memory_format=torch.contiguous_format, layout=True)
    c.call("_to_copy", x, dtype=torch.float16, memory_format=torch.channels_last, layout=True)
    last = c.tensor((2, 3, 2, 2)).to(memory_format=torch.channels_last)
    for name in ("add.Tensor", "mul.Tensor", "maximum"):
        c.call(name, last, last, layout=True)
        c.call(name, last, x, layout=True)
        c.call(name, x, last, layout=True)
        c.call(name, c.tensor((1, 3, 1, 1)), last, layout=True)
        c.call(name, last, c.tensor(()), layout=True)
    c.call("where.self", last > 0, last, c.tensor(()), layout=True)
    c.call("relu", last, layout=True)
    c.call("gt.Scalar", last, 0, layout=True)


def complex_numbers(c):
    c.comment("complex numbers")
    z = torch.tensor([1 + 2j, -0.5 + 0.25j, 3 - 1j, -2j, 0.5 + 0j])
    for name in ("sqrt", "rsqrt", "reciprocal", "exp", "log", "sin", "cos", "sinh", "cosh", "tanh", "sigmoid", "square", "neg", "abs", "sgn"):
        c.call(name, z)
        c.call(name, z.to(torch.complex128))
    c.call("tanh", torch.tensor([400 + 1j, -400 - 1j], dtype=torch.complex128))
    c.call("pow.Tensor_Tensor", z, z.flip(0), tol=(1e-5, 1e-5))
    c.call("pow.Tensor_Scalar", z, 2.5, tol=(1e-5, 1e-5))
    for name in ("eq.Tensor", "ne.Tensor", "add.Tensor", "mul.Tensor", "div.Tensor"):
        c.call(name, z, z.flip(0))
        c.call(name, z, c.tensor((5,)))
    for name in ("floor", "relu", "gelu", "isposinf", "erf", "sign"):
        c.error(name, z)


def cases(c):
    for part in (complex_numbers, binary_arithmetic, divisions, float_binary, comparisons, bits, unary, activations, selections, copies):
        part(c)
