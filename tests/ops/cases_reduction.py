"""Reductions, softmax and scans: dtypes, dimensions, kept dimensions, empty and 0-d inputs, NaN, layouts."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
LOOSE = {torch.float16: (1.5e-3, 1e-3), torch.bfloat16: (1.6e-2, 1e-2)}  # where PyTorch rounds in between
NAN, INF = float("nan"), float("inf")


def sums(c):
    c.comment("sums, products, means")
    for dtype in FLOATS + INTS + [torch.bool]:
        x = c.tensor((2, 3, 4), dtype, 0, 3)
        c.call("sum", x)
        c.call("sum.dim_IntList", x, [1])
        c.call("sum.dim_IntList", x, [0, -1], True)
        c.call("sum.dim_IntList", x, None)
        c.call("nansum", x, [2])
        c.call("prod", c.tensor((4,), dtype, 1, 3))
        c.call("prod.dim_int", x, 1, True)
        c.call("cumsum", x, 1)
        c.call("cumprod", x, -1)
        if dtype in FLOATS:
            c.call("mean", x)
            c.call("mean.dim", x, [-1, 0])
            c.call("mean.dim", x, [1], True)
        else:
            c.call("mean", x, dtype=torch.float32)
            c.error("mean", x)
    x = c.tensor((2, 3))
    c.call("sum", x, dtype=torch.float64)
    c.call("sum", x, dtype=torch.int32)
    c.call("sum.dim_IntList", x, [], True)
    c.call("sum.dim_IntList", c.tensor((0, 3)), [0])
    c.call("mean.dim", c.tensor((0, 3)), [0])
    c.call("sum.dim_IntList", c.tensor((3, 0)), [0])
    c.call("prod", c.tensor((0,)))
    c.call("sum", c.tensor(()))
    c.call("sum.dim_IntList", c.tensor(()), [-1])
    c.call("nansum", torch.tensor([1.0, NAN, 2.0]))
    c.call("sum", torch.tensor([2**62, 2**62, 2**62]))
    c.call("sum", torch.full((70000,), 0.125).to(torch.bfloat16).reshape(7, -1)[:, :300].contiguous())
    c.call("cumsum", x, 0, dtype=torch.float64)
    c.call("cumsum", torch.tensor(3), 0)
    c.call("logcumsumexp", x, 1)
    c.call("logcumsumexp", torch.tensor([-INF, 1.0, INF, 2.0]), 0)
    c.error("sum.dim_IntList", x, [2])
    c.error("sum.dim_IntList", x, [0, 0])
    c.call("sum.dim_IntList", c.tensor((2, 3, 2, 2)).to(memory_format=torch.channels_last), [2, 3], True)
    c.call("mean.dim", c.tensor((2, 3, 4, 4)).to(memory_format=torch.channels_last), [2, 3])
    c.call("sum", torch.tensor([1 + 2j, 3 - 1j]))


def truth(c):
    c.comment("truth and counts")
    for dtype in FLOATS + INTS + [torch.bool]:
        x = c.tensor((2, 3, 4), dtype, 0, 2).floor() if dtype in FLOATS else c.tensor((2, 3, 4), dtype, 0, 2)
        for name in ("any", "all"):
            c.call(name, x)
            c.call(name + ".dim", x, 1, True)
            c.call(name + ".dims", x, [0, 2])
        c.call("count_nonzero", x)
        c.call("count_nonzero", x, 1)
        c.call("count_nonzero.dim_IntList", x, [0, 1])
    for name in ("any", "all"):
        c.call(name + ".dims", c.tensor((2, 3), torch.int32, 0, 2), [])
        c.call(name + ".dims", c.tensor((2, 3), torch.int32, 0, 2), None, True)
        c.call(name, c.tensor((0,)))
        c.call(name + ".dim", c.tensor((2, 0), torch.bool), 1)
        c.call(name, torch.tensor([NAN]))
        c.call(name, torch.tensor([0.5, 0.1]))


def extremes(c):
    c.comment("extremes")
    for dtype in FLOATS + INTS + [torch.bool]:
        x = c.tensor((2, 3, 4), dtype, 0, 20)
        for name in ("max", "min"):
            c.call(name, x)
            c.call(name + ".dim", x, 1)
            c.call(name + ".dim", x, -1, True)
        c.call("amax", x, [0, 2], True)
        c.call("amin", x)
        c.call("aminmax", x)
        c.call("aminmax", x, dim=1, keepdim=True)
        if dtype != torch.bool:
            c.call("argmax", x)
            c.call("argmax", x, 1)
            c.call("argmin", x, -1, True)
            c.call("argmin", x)
            c.call("cummax", x, 1)
            c.call("cummin", x, 0)
    x = torch.tensor([[1.0, NAN, 3.0, NAN], [2.0, 5.0, 5.0, -1.0], [-INF, INF, INF, 0.0]])
    for name in ("max.dim", "min.dim", "argmax", "argmin", "cummax", "cummin"):
        c.call(name, x, 1)
    for name in ("amax", "amin"):
        c.call(name, x, [1])
    c.call("argmax", x, None, True)
    c.call("max.dim", torch.tensor(3.0), -1)
    c.call("max.dim", c.tensor((0, 3)), 1)
    c.call("amax", torch.tensor([2**53, 2**53 + 1]))
    for name, *args in (("max",), ("argmax",), ("amax", [0]), ("max.dim", 0), ("aminmax",), ("argmin", 0)):
        c.error(name, c.tensor((0, 3)), *args)


def order_statistics(c):
    c.comment("order statistics")
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.int8):
        x = torch.tensor([[5, 1, 4, 2], [9, 7, 8, 6], [3, 12, 11, 10]]).to(dtype)
        c.call("median", x)
        c.call("median.dim", x, 1)
        c.call("median.dim", x, 0, True)
        c.call("kthvalue", x, 2)
        c.call("kthvalue", x, 3, 0, True)
        c.call("mode", torch.tensor([[1, 2, 2, 3], [4, 3, 3, 4], [1, 2, 3, 4]]).to(dtype), 1)
        c.call("mode", x, 0, True)
    x = torch.tensor([[5.0, NAN, 4.0, 2.0], [NAN, NAN, NAN, NAN]])
    c.call("median.dim", x, 1)
    c.call("nanmedian.dim", x[:1], 1)
    c.call("nanmedian", x)
    c.call("median", c.tensor((0,)))
    for k in (1, 4, 7):  # which of equals is named
        c.call("kthvalue", c.tensor((3, 9), torch.int64, 0, 4), k, 1)
    c.error("kthvalue", c.tensor((3,)), 4)


def variances(c):
    c.comment("variances and norms")
    for dtype in FLOATS:
        x = c.tensor((2, 3, 4), dtype)
        for name in ("var", "std", "var_mean", "std_mean"):
            c.call(name, x)
            c.call(name, x, False)
            c.call(name + ".dim", x, [1, 2], False, True)
            c.call(name + ".dim", x, [0])
            c.call(name + ".correction", x, [1])
            c.call(name + ".correction", x, None, correction=0)
            c.call(name + ".correction", x, [-1], correction=2, keepdim=True)
        c.call("logsumexp", x, [1])
        c.call("logsumexp", x, [0, 2], True)
        for order in (2, 1, 0, INF, -INF, 3, 0.5):
            c.call("linalg_vector_norm", x, order, [1])
        c.call("linalg_vector_norm", x)
        c.call("norm.Scalar", x, 2)
        c.call("norm.ScalarOpt_dim", x, None, [1], True)
        for reduction in (0, 1, 2):
            c.call("mse_loss", x, c.tensor((3, 4), dtype).expand(2, 3, 4).contiguous(), reduction,
                   tol=(3e-2, 1e-2) if dtype == torch.bfloat16 else None)  # PyTorch rounds the differences first
    c.call("norm.ScalarOpt_dim_dtype", c.tensor((2, 3)), 2, [1], False, dtype=torch.float64)
    c.call("linalg_vector_norm", c.tensor((2, 3)), 2, [1], dtype=torch.float64)
    c.call("linalg_vector_norm", torch.tensor([3 + 4j, 1j]))
    c.call("var", c.tensor((1,)))
    c.call("var.correction", c.tensor((3, 2)), [0], correction=5)
    c.call("logsumexp", torch.tensor([[-INF, -INF], [INF, 1.0], [NAN, 1.0], [1000.0, 1000.0]]), [1])
    c.call("logsumexp", c.tensor((3,), torch.int32), [0])
    c.call("logsumexp", c.tensor((0, 2)), [0])
    c.error("var", c.tensor((3,), torch.int32))
    c.error("linalg_vector_norm", c.tensor((3,), torch.int32))


def softmaxes(c):
    c.comment("softmax")
    for dtype in FLOATS:
        for name in ("_softmax", "_log_softmax"):
            for dim in (0, 1, -1):
                c.call(name, c.tensor((2, 3, 4), dtype), dim, False, tol=LOOSE.get(dtype))
        c.call("softmax.int", c.tensor((2, 3), dtype), 1, torch.float32)
        c.call("log_softmax.int", c.tensor((2, 3), dtype), 0)
    for name in ("_softmax", "_log_softmax"):
        c.call(name, torch.tensor([[1000.0, 999.0, -INF], [NAN, 1.0, 2.0], [-INF, -INF, -INF]]), 1, False)
        c.call(name, torch.tensor(2.0), 0, False)
        c.call(name, c.tensor((2, 0)), 1, False)
        c.call(name, c.tensor((0, 2)), 1, False)
        c.call(name, c.tensor((3, 300)), 1, False)
        c.error(name, c.tensor((2, 2), torch.int32), 1, False)
        c.error(name, c.tensor((2, 2)), 2, False)


def cases(c):
    for part in (sums, truth, extremes, order_statistics, variances, softmaxes):
        part(c)
