"""Complex numbers in kernels that compute: functions on all four quadrants and on the axes, products, comparisons, spectra."""

import torch

TYPES = [torch.complex64, torch.complex128]
FUNCTIONS = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt reciprocal "
             "sigmoid sinc square neg conj_physical abs angle sgn").split()


def tolerance(dtype):
    return (2e-5, 2e-5) if dtype == torch.complex64 else (1e-9, 1e-9)


def numbers(c, shape, dtype, low=-3, high=3):
    return torch.complex(c.tensor(shape, torch.float64, low, high), c.tensor(shape, torch.float64, low, high)).to(dtype)


def functions(c):
    c.comment("functions")
    axes = torch.tensor([2 + 0j, -2 + 0j, 0.5 + 0j, -0.5 + 0j, 2j, -2j, 0.5j, -0.5j])
    for dtype in TYPES:
        for name in FUNCTIONS:
            c.call(name, numbers(c, (3, 4), dtype), tol=tolerance(dtype))
        for name in ("exp", "log", "sin", "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "abs", "angle"):
            c.call(name, axes.to(dtype), tol=tolerance(dtype))


def arithmetic(c):
    c.comment("arithmetic")
    for dtype in TYPES:
        tol = tolerance(dtype)
        for name in ("add.Tensor", "sub.Tensor", "rsub.Tensor", "mul.Tensor", "div.Tensor", "pow.Tensor_Tensor", "logaddexp"):
            c.call(name, numbers(c, (2, 3), dtype), numbers(c, (3,), dtype), tol=tol)
        for name in ("add.Tensor", "mul.Tensor", "div.Tensor"):
            c.call(name, numbers(c, (2, 3), dtype), c.tensor((3,), torch.float32), tol=tol)
        c.call("pow.Tensor_Scalar", numbers(c, (3,), dtype), 3, tol=tol)
        c.call("pow.Scalar", 2, numbers(c, (3,), dtype), tol=tol)
        c.call("eq.Tensor", numbers(c, (3,), dtype).real + 1j, numbers(c, (3,), dtype))
        c.call("ne.Tensor", torch.tensor([1 + 2j, 1j]).to(dtype), torch.tensor([1 + 2j, -1j]).to(dtype))
        c.call("isclose", torch.tensor([1 + 2j, 1j]).to(dtype), torch.tensor([1.000001 + 2j, 1.1j]).to(dtype))
        c.error("lt.Tensor", numbers(c, (2,), dtype), numbers(c, (2,), dtype))


def reductions(c):
    c.comment("reductions and scans")
    for dtype in TYPES:
        tol = tolerance(dtype)
        x = numbers(c, (3, 4), dtype, -1.5, 1.5)
        c.call("sum.dim_IntList", x, [1], tol=tol)
        c.call("mean.dim", x, [0], tol=tol)
        c.call("prod", x, tol=tol)
        c.call("prod.dim_int", x, 1, tol=tol)
        c.call("cumprod", x, 1, tol=tol)
        c.call("logcumsumexp", x, 0, tol=tol)
        c.call("linalg_vector_norm", x, 2, [1], tol=tol)
        c.call("linalg_vander", x[0], tol=tol)
        c.call("any.dim", x, 0)
        c.call("count_nonzero", torch.tensor([0j, 1j, 1 + 0j]).to(dtype))
    c.call("prod", torch.zeros(0, dtype=torch.complex64))


def spectra(c):
    c.comment("Fourier transforms: small, odd and prime lengths")
    for dtype in TYPES:
        for n in (1, 2, 6, 7, 12, 13):
            c.call("_fft_c2c", numbers(c, (2, n), dtype), [1], n % 3, n % 2 == 0, tol=tolerance(dtype))
            real = c.tensor((2, n), torch.float32 if dtype == torch.complex64 else torch.float64)
            c.call("_fft_r2c", real, [1], n % 3, True, tol=tolerance(dtype))
            c.call("_fft_c2r", torch.fft.rfft(real), [1], n % 3, n, tol=tolerance(dtype))
        c.call("_fft_c2c", numbers(c, (3, 2, 4), dtype), [0, 2], 1, False, tol=tolerance(dtype))


def cases(c):
    functions(c)
    arithmetic(c)
    reductions(c)
    spectra(c)
