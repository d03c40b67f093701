"""Linear algebra: systems, determinants, decompositions; square, tall, wide and empty matrices, batches, real and complex."""

import torch

NUMBERS = [torch.float32, torch.float64, torch.complex64, torch.complex128]
COMMON = [torch.float32, torch.complex64]  # every shape; the others have the first ones


def shapes(dtype, *all_shapes):
    return all_shapes if dtype in COMMON else all_shapes[:2]


def tolerance(dtype):
    return (2e-4, 2e-4) if dtype in (torch.float32, torch.complex64) else (1e-9, 1e-9)


def matrix(c, shape, dtype):
    """Random, well away from singular."""
    real = c.tensor(shape, torch.float64, -1, 1)
    values = torch.complex(real, c.tensor(shape, torch.float64, -1, 1)) if dtype.is_complex else real
    if shape[-1] == shape[-2]:
        values = values + 2 * torch.eye(shape[-1], dtype=values.dtype)
    return values.to(dtype)


def positive(c, shape, dtype):
    a = matrix(c, shape, dtype)
    return a @ a.mH + torch.eye(shape[-1], dtype=dtype)


def systems(c):
    c.comment("inverses, systems, LU, determinants")
    for dtype in NUMBERS:
        tol = tolerance(dtype)
        for shape in shapes(dtype, (3, 3), (0, 3, 3), (1, 1), (2, 4, 4), (2, 0, 0)):
            a = matrix(c, shape, dtype)
            c.call("linalg_inv_ex", a, tol=tol)
            c.call("linalg_lu_factor_ex", a, tol=tol)
            c.call("linalg_lu", a, tol=tol)
            factors = torch.ops.aten.linalg_lu_factor_ex(a)[:2]  # PyTorch may factorize the transpose instead
            c.given("_linalg_det", [a], [torch.linalg.det(a), *factors], tol=tol)
            c.given("_linalg_slogdet", [a], [*torch.linalg.slogdet(a), *factors], tol=tol)
        for shape in shapes(dtype, (4, 2), (2, 4), (2, 5, 3)):
            c.call("linalg_lu_factor_ex", matrix(c, shape, dtype), tol=tol)
            c.call("linalg_lu", matrix(c, shape, dtype), tol=tol)
        lu, pivots = torch.linalg.lu_factor(matrix(c, (2, 3, 3), dtype))
        c.call("lu_unpack", lu, pivots, tol=tol)
        c.call("lu_unpack", lu, pivots, True, False, tol=tol)
        for left in (True, False):
            for adjoint in (True, False):
                c.call("linalg_lu_solve", lu, pivots, matrix(c, (2, 3, 3), dtype), left=left, adjoint=adjoint, tol=tol)
                c.call("linalg_lu_solve", lu, pivots, matrix(c, (3, 3), dtype), left=left, adjoint=adjoint, tol=tol)
        for a_shape, b_shape, left in shapes(dtype, ((3, 3), (3, 2), True), ((3, 3), (3,), True), ((2, 3, 3), (2, 3), True), ((2, 3, 3), (3,), True),
                                       ((3, 3), (2, 3, 2), True), ((3, 3), (2, 3), False), ((2, 1, 3, 3), (4, 2, 3), False),
                                       ((2, 3, 3), (2, 3, 0), True), ((0, 0), (0, 2), True)):
            a, b = matrix(c, a_shape, dtype), matrix(c, b_shape, dtype) if len(b_shape) > 1 else matrix(c, (1, *b_shape), dtype)[0]
            solved = torch.linalg.solve_ex(a, b, left=left)
            lu, pivots, info = torch.ops.aten.linalg_lu_factor_ex(a)
            c.given("_linalg_solve_ex", [a, b, left, False], [solved[0], lu, pivots, info], tol=tol)
    singular = torch.tensor([[1.0, 2], [2, 4]])
    c.error("linalg_inv_ex", singular, check_errors=True)
    c.error("_linalg_solve_ex", singular, torch.ones(2), check_errors=True)
    c.error("linalg_inv_ex", c.tensor((2, 3)))
    c.error("linalg_inv_ex", c.tensor((3,)))
    c.error("linalg_inv_ex", c.tensor((2, 2), torch.int64))
    c.error("_linalg_solve_ex", c.tensor((2, 2)), c.tensor((3, 2)))
    c.error("linalg_lu_factor_ex", singular, check_errors=True)
    c.error("linalg_lu_solve", c.tensor((2, 2)), torch.tensor([1, 7], dtype=torch.int32), c.tensor((2, 1)))


def triangles(c):
    c.comment("triangular systems, Cholesky")
    for dtype in NUMBERS:
        tol = tolerance(dtype)
        for upper in (True, False):
            for unit in (True, False):
                for left in (True, False):
                    c.call("linalg_solve_triangular", matrix(c, (2, 3, 3), dtype), matrix(c, (3, 3), dtype), upper=upper, left=left, unitriangular=unit, tol=tol)
                c.call("triangular_solve", matrix(c, (2, 3, 4), dtype), matrix(c, (3, 3), dtype), upper, unit, not unit, tol=tol)
            for shape in shapes(dtype, (2, 3, 3), (1, 1), (0, 0)):
                a = positive(c, shape, dtype)
                c.call("linalg_cholesky_ex", a, upper=upper, tol=tol)
                c.call("cholesky", a, upper, tol=tol)
                factor = torch.linalg.cholesky(a, upper=upper)
                c.call("cholesky_inverse", factor, upper, tol=tol)
                c.call("cholesky_solve", matrix(c, (shape[-1], 2), dtype), factor, upper, tol=tol)
    c.error("cholesky", torch.tensor([[1.0, 2], [2, 1]]))
    c.error("linalg_cholesky_ex", torch.tensor([[-1.0]]), check_errors=True)
    c.error("linalg_solve_triangular", c.tensor((3, 2)), c.tensor((3, 2)), upper=True)


def decompositions(c):
    c.comment("QR, singular values, eigenvalues, exponential")
    for dtype in NUMBERS:
        tol = tolerance(dtype)
        for shape in shapes(dtype, (3, 3), (4, 3), (1, 1), (2, 7, 3), (3, 5), (2, 6), (0, 3, 2), (2, 0), (0, 2)):
            a = matrix(c, shape, dtype)
            c.call("linalg_qr", a, tol=tol)
            c.call("linalg_qr", a, "complete", tol=tol)
            c.call("linalg_qr", a, "r", tol=tol)
            c.call("geqrf", a, tol=tol)
            c.call("_linalg_svd", a, tol=tol)
            c.call("_linalg_svd", a, True, tol=tol)
            c.call("_linalg_svd", a, compute_uv=False, tol=tol)
        v, tau = torch.geqrf(matrix(c, (2, 5, 3), dtype))
        c.call("linalg_householder_product", v, tau, tol=tol)
        c.call("linalg_householder_product", v, tau[:, :2].contiguous(), tol=tol)
        for transpose in (True, False):
            c.call("ormqr", v, tau, matrix(c, (2, 5, 2), dtype), True, transpose, tol=tol)
            c.call("ormqr", v, tau, matrix(c, (2, 2, 5), dtype), False, transpose, tol=tol)
        for shape in shapes(dtype, (2, 3, 3), (2, 2), (5, 5), (9, 9), (1, 1), (0, 0), (0, 2, 2)):
            a = positive(c, shape, dtype)
            for triangle in ("L", "U"):
                c.call("_linalg_eigh", a, triangle, tol=tol)
            c.call("_linalg_eigh", a, compute_v=False, tol=tol)
            c.call("linalg_matrix_exp", a / 4, tol=tol)
    c.call("_linalg_svd", torch.zeros(3, 2), compute_uv=False)
    c.call("_linalg_svd", torch.ones(4, 4), compute_uv=False, tol=(1e-5, 1e-5))
    c.call("_linalg_eigh", torch.diag(torch.tensor([3.0, 1, 2])))
    c.call("linalg_matrix_exp", torch.tensor([[0.0, 30], [-30, 0]], dtype=torch.float64), tol=(1e-9, 1e-9))
    half = c.tensor((2, 2), torch.bfloat16, -1, 1)  # PyTorch's own result in half precision is far off
    c.given("linalg_matrix_exp", [half], [torch.linalg.matrix_exp(half.double()).bfloat16()], tol=(1e-2, 1e-2))
    c.error("_linalg_svd", torch.tensor([[float("nan"), 1.0], [1, 1]]))
    c.error("_linalg_eigh", c.tensor((2, 3)))
    c.error("linalg_qr", c.tensor((2, 2)), "half")
    c.error("ormqr", c.tensor((3, 2)), c.tensor((2,)), c.tensor((4, 2)))


def cases(c):
    systems(c)
    triangles(c)
    decompositions(c)
