"""Rarer operators: special functions, functions of numbers, element losses."""

import torch

NAN, INF = float("nan"), float("inf")
POLYNOMIALS = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
               "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
               "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
               "legendre_polynomial_p"]


def functions(c):
    loose = (2e-5, 2e-6)  # PyTorch's float32 versions are that good
    c.comment("gamma functions")
    for dtype in (torch.float32, torch.float64):
        c.call("special_zeta", c.tensor((2, 3), dtype, 1.1, 6), c.tensor((3,), dtype, 0.2, 9), tol=loose)
        c.call("special_zeta", torch.tensor([1.0, 0.5, 2, 2, 2.5, 3]).to(dtype), torch.tensor([2.0, 2, -1, -1.5, -1.5, 0.5]).to(dtype), tol=loose)
        for name in ("igamma", "igammac"):
            c.call(name, c.tensor((2, 3), dtype, 0.2, 9), c.tensor((3,), dtype, 0, 9), tol=loose)
            c.call(name, torch.tensor([0.0, 0, 1, 1, 2, INF, 1, -1, NAN]).to(dtype), torch.tensor([0.0, 1, 0, 2, 3, 1, INF, 1, 1]).to(dtype), tol=loose)
            large = torch.tensor([1e8, 1e12, 1e30, 1e9]).to(dtype)
            c.call(name, large, torch.tensor([1e8, 1e12, 1e30, 1.0]).to(dtype), tol=loose)
            if dtype == torch.float64:  # beside the middle PyTorch's float32 version is off by 1e-4
                c.call(name, torch.tensor([1e8, 2e6, 3e6]).to(dtype), torch.tensor([100008000, 1.999e6, 3.003e6]).to(dtype), tol=loose)
        for n in range(4):
            c.call("polygamma", n, c.tensor((5,), dtype, 0.3, 9), tol=loose)
            c.call("polygamma", n, torch.tensor([-0.5, -1.75, 2.25]).to(dtype), tol=loose)
        c.call("mvlgamma", c.tensor((5,), dtype, 2, 9), 3)
    c.call("polygamma", 1, torch.tensor([1, 2]), tol=loose)
    c.call("special_zeta.self_scalar", 2, c.tensor((3,), torch.float64, 1, 4))
    c.call("special_zeta.other_scalar", c.tensor((3,), torch.float64, 2, 4), 1)
    c.comment("Bessel and Airy functions")
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
                 "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "airy_ai"):
        for dtype in (torch.float32, torch.float64):
            c.call("special_" + name, torch.tensor([0.1, 0.5, 1.0, 2.5, 7.0, 8.5, 15.0]).to(dtype), tol=loose)
            if name[:9] not in ("bessel_y0", "bessel_y1"):
                c.call("special_" + name, torch.tensor([0.0, -0.5, -3.0, -7.0, -12.0, NAN]).to(dtype), tol=loose)
        c.call("special_" + name, c.tensor((3,), torch.int32, 1, 5), tol=loose)
    c.comment("polynomials")
    for name in POLYNOMIALS:
        name = "special_" + name
        c.call(name, torch.tensor([0.5, 1.0, -1.0, 2.0, 0.3, 0.3, 0.3, 2.0]), torch.tensor([2.0, 3, 3, 3, -1, 0, 1, 1.9]), tol=loose)
        c.call(name + ".n_scalar", c.tensor((4,), torch.float64, -1, 1), 5)
        c.call(name + ".x_scalar", 0.25, torch.tensor([0.0, 1, 2, 3, 4]), tol=loose)


def numbers(c):
    c.comment("numbers")
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        low = 0 if dtype == torch.uint8 else -10
        c.call("gcd", c.tensor((2, 4), dtype, low, 12), c.tensor((4,), dtype, low, 12))
        c.call("lcm", c.tensor((2, 4), dtype, low, 10), c.tensor((4,), dtype, low, 10))
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        c.call("nextafter", torch.tensor([1.0, 0.0, 0.0, INF, 1.0, -1.0, NAN]).to(dtype), torch.tensor([2.0, -1, 1, 0, 1, -3, 0]).to(dtype))
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        c.call("frexp.Tensor", torch.tensor([1.5, -2.0, 0.0, INF, NAN, 100.25, 0.01]).to(dtype))
        c.call("ldexp.Tensor", c.tensor((2, 3), dtype), c.tensor((3,), torch.int32, -3, 4))
        c.call("angle", torch.tensor([-1.0, 0.0, 2.0, NAN]).to(dtype))
        c.call("isclose", torch.tensor([1.0, 1.0, INF, NAN, 0.0]).to(dtype), torch.tensor([1.000001, 1.1, INF, NAN, 1e-9]).to(dtype))
        c.call("isclose", torch.tensor([1.0, NAN]).to(dtype), torch.tensor([1.1, NAN]).to(dtype), 0.2, 0.0, True)
    c.call("ldexp.Tensor", torch.tensor([1, 2]), torch.tensor([3, 4]))
    c.call("isclose", torch.tensor([1, 5]), torch.tensor([1, 6]))
    c.call("angle", torch.tensor([-1, 2]))
    c.call("angle", torch.tensor([1j, -1 + 0j, 3 - 3j]))
    c.call("isreal", torch.tensor([1j, -1 + 0j]))
    c.call("isreal", torch.tensor([1, 2]))
    c.call("float_power.Tensor_Tensor", c.tensor((3,), torch.float32, 1, 3), c.tensor((3,), torch.int32, 0, 4))
    c.call("float_power.Tensor_Scalar", torch.tensor([1, 2, 3]), 2.5)
    c.call("float_power.Scalar", 2, c.tensor((3,), torch.float16))
    c.call("complex", c.tensor((2, 3)), c.tensor((3,)))
    c.call("polar", c.tensor((3,), torch.float64), c.tensor((3,), torch.float64))


def small(c):
    c.comment("reductions and small linear algebra")
    x = torch.tensor([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    c.call("nanmean", x, [1])
    c.call("nanmean", x[:1], None, True)
    for dtype in (torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool):
        c.call("hash_tensor", c.tensor((2, 3), dtype, 0, 9), [1])
        c.call("sum_to_size", c.tensor((2, 3, 4), torch.float32), [3, 1])
        c.call("trace", c.tensor((3, 4), dtype, 0, 9)) if dtype != torch.bool else None
    c.call("hash_tensor", c.tensor((2, 3)))
    c.error("sum_to_size", c.tensor((2, 3)), [2])
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        c.call("addr", c.tensor((2, 3), dtype), c.tensor((2,), dtype), c.tensor((3,), dtype), tol=(2e-2, 1e-1) if dtype in (torch.bfloat16, torch.float16) else None)
        for p in (0, 1, 2, INF):
            c.call("dist", c.tensor((2, 3), dtype), c.tensor((3,), dtype), p, tol=(2e-2, 1e-2) if dtype in (torch.bfloat16, torch.float16) else None)
            if p:
                c.call("renorm", c.tensor((2, 3, 2), dtype), p, 1, 1.5, tol=(2e-2, 1e-2) if dtype in (torch.bfloat16, torch.float16) else None)
    c.call("addr", torch.tensor([[NAN, 1.0]]), c.tensor((2,)), c.tensor((2,)), beta=0, alpha=2)
    c.call("addr", c.tensor((2, 3), torch.int32), c.tensor((2,), torch.int32), c.tensor((3,), torch.int32), beta=2, alpha=3)
    c.error("addr", c.tensor((2, 3)), c.tensor((3,)), c.tensor((3,)))


def losses(c):
    c.comment("losses")
    for reduction in (0, 1, 2):
        for dtype in (torch.float32, torch.float64):
            x, t, half = c.tensor((2, 3), dtype), c.tensor((2, 3), dtype), c.tensor((2, 3), dtype, 0.05, 0.95)
            sign = torch.where(t > 0, 1, -1).to(dtype)
            c.call("mse_loss", x, t, reduction)
            c.call("l1_loss", x, t, reduction)
            c.call("smooth_l1_loss", x, t, reduction, 0.8)
            c.call("smooth_l1_loss", x, t, reduction, 0.0)
            c.call("huber_loss", x, t, reduction, 1.5)
            c.call("binary_cross_entropy", half, c.tensor((2, 3), dtype, 0, 1), None, reduction)
            c.call("binary_cross_entropy", half, (t > 0).to(dtype), c.tensor((3,), dtype, 0, 1), reduction)
            c.call("binary_cross_entropy_with_logits", x, (t > 0).to(dtype), None, None, reduction)
            c.call("binary_cross_entropy_with_logits", x, half, c.tensor((3,), dtype, 0, 1), c.tensor((3,), dtype, 0, 2), reduction)
            c.call("kl_div", x, half, reduction)
            c.call("kl_div", x, t, reduction, log_target=True)
            c.call("soft_margin_loss", x, sign, reduction)
            c.call("hinge_embedding_loss", x, sign, 0.7, reduction)
            c.call("margin_ranking_loss", x, t, sign, 0.3, reduction)
            c.call("poisson_nll_loss", x, half * 4, True, True, 1e-8, reduction)
            c.call("poisson_nll_loss", half, half * 4, False, False, 1e-8, reduction)
    c.call("binary_cross_entropy", torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 0.0, 1.0]), None, 0)
    c.call("l1_loss", c.tensor((0,)), c.tensor((0,)), 1)


def vector_losses(c):
    c.comment("losses between vectors")
    for dtype in (torch.float32, torch.float64, torch.int32):
        a, b, d = c.tensor((3, 4), dtype), c.tensor((3, 4), dtype), c.tensor((3, 4), dtype)
        for reduction in (0, 1, 2):
            c.call("cosine_embedding_loss", a, b, torch.tensor([1, -1, 1]).to(dtype), 0.2, reduction)
            if dtype != torch.int32:
                c.call("triplet_margin_loss", a, b, d, 0.5, 2.0, 1e-6, False, reduction)
                c.call("triplet_margin_loss", a, b, d, 1.5, 1.0, 1e-6, True, reduction)
    c.call("cosine_embedding_loss", c.tensor((4,)), c.tensor((4,)), torch.tensor(1.0))
    c.error("cosine_embedding_loss", c.tensor((3, 4)), c.tensor((3, 4)), torch.tensor([1.0, 1.0]))


def integrals(c):
    c.comment("integrals, quantiles")
    for dtype in (torch.float32, torch.float64, torch.int32):
        y = c.tensor((2, 3, 4), dtype)
        for name in ("trapezoid", "trapz"):
            c.call(name + ".x", y, c.tensor((4,), dtype))
            c.call(name + ".x", y, c.tensor((3,), dtype), dim=1)
            c.call(name + ".x", y, c.tensor((2, 3, 4), dtype), dim=0)
            c.call(name + ".dx", y, dx=2.0, dim=1)
        c.call("cumulative_trapezoid.x", y, c.tensor((4,), dtype))
        c.call("cumulative_trapezoid.x", y, c.tensor((2, 3, 4), dtype), dim=0)
        c.call("cumulative_trapezoid.dx", y, dx=2.0, dim=1)
    c.call("trapezoid.dx", c.tensor((2, 1)))
    c.call("trapezoid.dx", c.tensor((2, 0)))
    for dtype in (torch.float32, torch.float64):
        x = c.tensor((3, 4), dtype)
        for way in ("linear", "lower", "higher", "midpoint", "nearest"):
            c.call("quantile", x, torch.tensor([0.1, 0.6, 1.0], dtype=dtype), 1, True, interpolation=way)
            c.call("quantile.scalar", x, 0.3, interpolation=way)
        x[0, 1] = NAN
        c.call("quantile", x, torch.tensor(0.5, dtype=dtype), 1)
        c.call("nanquantile", x, torch.tensor([0.5, 0.2], dtype=dtype), 0)
        c.call("nanquantile.scalar", x, 0.5, None, True)
    c.error("quantile", c.tensor((3,)), torch.tensor([1.5]))


def lookups(c):
    c.comment("lookups and small products")
    for dtype in (torch.int64, torch.int8, torch.float32):
        c.call("isin.Tensor_Tensor", c.tensor((2, 4), dtype, 0, 5).round() if dtype.is_floating_point else c.tensor((2, 4), dtype, 0, 5),
               torch.tensor([1, 3]).to(dtype))
        c.call("isin.Tensor_Tensor", torch.tensor([1, 2, 3]).to(dtype), torch.tensor([[1], [3]]).to(dtype), invert=True)
        c.call("isin.Tensor_Scalar", torch.tensor([1, 2, 3]).to(dtype), 2)
        c.call("isin.Scalar_Tensor", 2, torch.tensor([1, 2, 3]).to(dtype))
        c.call("kron", c.tensor((2, 3), dtype), c.tensor((3,), dtype))
        c.call("kron", c.tensor((2,), dtype), c.tensor((1, 2, 2), dtype))
        c.call("linalg_vander", torch.tensor([[1, 2, 3], [0, -1, 4]]).to(dtype))
        c.call("linalg_vander", torch.tensor([2, 3]).to(dtype), N=4)
        c.call("linalg_vander", torch.tensor(3).to(dtype), N=3)
    for dtype in (torch.float32, torch.float64):
        c.call("histc", torch.tensor([1.0, 2.0, 1.0, 3.0, -1.0, 7.0], dtype=dtype), 4, 0, 3)
        c.call("histc", c.tensor((20,), dtype), 5)
        c.call("histc", torch.tensor([1.0, 1.0], dtype=dtype), 4)
        c.call("linalg_vecdot", c.tensor((2, 3), dtype), c.tensor((3,), dtype))
        c.call("linalg_vecdot", c.tensor((2, 3), dtype), c.tensor((2, 1), dtype), dim=0)
    c.call("zero", c.tensor((2, 3)))
    c.call("zero", c.tensor((2, 0)))


def ends(c):
    c.comment("infinity, NaN, poles")
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        odd = torch.tensor([INF, -INF, NAN, 0.0, -0.0]).to(dtype)
        for name in ("i0", "special_i0e", "special_i1", "special_i1e"):
            if name == "i0" or dtype != torch.bfloat16:
                c.call(name, odd)
        a, b = torch.meshgrid(odd, torch.tensor([INF, -INF, NAN, 0.0, 1.0]).to(dtype), indexing="ij")
        for name in ("igamma", "igammac"):
            c.call(name, a.contiguous(), b.contiguous())
        c.call("polygamma", 1, torch.tensor([-1.0, -2.0, -3.0, -9.0, 0.0]).to(dtype), tol=(2e-2, 0.0))
    a, b = torch.meshgrid(torch.tensor([INF, -INF, NAN, 2.0]), torch.tensor([INF, -INF, NAN, 1.0]), indexing="ij")
    c.call("special_zeta", a.contiguous(), b.contiguous(), tol=(2e-5, 2e-6))
    for name in POLYNOMIALS:
        c.call("special_" + name, torch.full((4,), 0.5), torch.tensor([INF, -INF, NAN, 2.0]))
    c.comment("the last of equals, as a sort by value alone leaves them")
    for count in (15, 16, 17, 40, 300):
        for dtype in (torch.int32, torch.float32, torch.uint8):
            c.call("mode", c.tensor((count,), torch.int32, 0, 5).to(dtype))
    c.call("mode", torch.full((100,), 7))
    c.call("mode", torch.arange(90) % 3)


def whole_numbers(c):
    c.comment("whole numbers become floats, or wrap, as the steps of PyTorch's formula do")
    for x in (torch.tensor([True, False]), torch.tensor([3, -4])):
        c.call("square", x)
    for dtype in (torch.int32, torch.uint8, torch.bool, torch.float32):
        x = c.tensor((2, 3), dtype, 0, 9) if dtype != torch.bool else torch.tensor([[True, False, True], [False, True, True]])
        c.call("sum_to_size", x, [1, 3])
        c.call("sum_to_size", x, [2, 3])
    for dtype in (torch.int64, torch.int32, torch.uint8):
        low = 0 if dtype == torch.uint8 else -9
        x, y, z = (c.tensor((3, 4), dtype, low, 9) for _ in range(3))
        for reduction in (0, 1, 2):
            c.call("margin_ranking_loss", x, y, z, 0.5, reduction)
            c.call("poisson_nll_loss", x, y, True, False, 1e-8, reduction, tol=(1e-5, 1e-5))
            c.call("poisson_nll_loss", x.abs() + 1, y, False, True, 1e-8, reduction, tol=(1e-5, 1e-5)) if low == 0 else None
            c.call("triplet_margin_loss", x, y, z, 1.0, 2.0, 1e-6, False, reduction, tol=(1e-5, 2e-5))
            c.call("cosine_embedding_loss", x + 20, y + 15, torch.tensor([1, -1, 1]), 0.1, reduction)
            c.call("cosine_embedding_loss", x + 20, y + 15, torch.tensor([1, -1, 1]).to(dtype), 0.1, reduction)
            c.call("hinge_embedding_loss", c.tensor((3,)), torch.tensor([1, -1, 1]).to(dtype), 0.7, reduction)
        places = torch.tensor([3, 1, 8, 2], dtype=dtype)
        c.call("trapezoid.x", x, places)
        c.call("cumulative_trapezoid.x", x, places)


def cases(c):
    for part in (functions, numbers, small, losses, vector_losses, integrals, lookups, ends, whole_numbers):
        part(c)
