"""Creation: sizes, dtypes by default and by argument, sequences at their edges, memory formats."""

import torch

FORMATS = [None, torch.contiguous_format, torch.preserve_format, torch.channels_last]
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool]


def filled(c):
    for value in (7, 1.5, True, -1):
        c.call("full", [2, 3], value)
        for dtype in DTYPES:
            if not (value == -1 and dtype == torch.uint8):
                c.call("full", [3], value, dtype=dtype)
    c.call("full", [], float("nan"))
    c.call("full", [2, 0], 3)
    c.error("full", [2, -1], 3)
    for name in ("zeros", "ones"):
        c.call(name, [2, 3])
        c.call(name, [], dtype=torch.bool)
        c.call(name, [0, 4], dtype=torch.int32)
        c.error(name, [-1])
    x = c.tensor((1, 2, 2, 3)).to(memory_format=torch.channels_last)
    for memory_format in FORMATS:
        c.call("full_like", x, 2.5, memory_format=memory_format, layout=True)
        c.call("zeros_like", x, memory_format=memory_format, layout=True)
        c.call("ones_like", x, dtype=torch.int16, memory_format=memory_format, layout=True)
    c.call("full_like", c.tensor((2, 3), torch.int32), 2)
    c.call("full_like", c.tensor((2, 3), torch.bool), 1.5, dtype=torch.float64)
    c.call("ones_like", c.tensor((), torch.bool))
    c.error("zeros_like", c.tensor((2, 3)), memory_format=torch.channels_last)
    y = c.tensor((2,), torch.float16)
    c.call("new_full", y, [2, 2], 3)
    c.call("new_full", y, [2], 3, dtype=torch.int64)
    c.call("new_zeros", y, [3])
    c.call("new_ones", y, [3], dtype=torch.bool)
    c.call("scalar_tensor", 3)
    c.call("scalar_tensor", 2.5, dtype=torch.int64)
    c.call("scalar_tensor", True, dtype=torch.bool)
    c.call("fill.Scalar", c.tensor((2, 3), torch.int32), 4.7)
    c.call("fill.Scalar", x, -1, layout=True)
    c.call("fill.Tensor", c.tensor((2, 3)), torch.tensor(4, dtype=torch.int64))
    c.error("fill.Tensor", c.tensor((2, 3)), c.tensor((1, 2)))


def sequences(c):
    for end in (5, 0, 4.2, 5.0):
        c.call("arange", end)
    c.call("arange", 5, dtype=torch.float32)
    c.call("arange", 4, dtype=torch.bfloat16)
    c.call("arange", 3.1, dtype=torch.int64)
    c.call("arange", 3.1, dtype=torch.int32)
    c.call("arange.start_step", 2.1, -2.9, -1.0, dtype=torch.int64)
    c.error("arange", -1)
    for start, end, step in ((1, 6, 2), (5, 0, -2), (0, 1, 0.25), (1.5, 1.5, 1), (-3, 4, 3), (2**40, 2**40 + 3, 1), (1, 2, 0.3)):
        c.call("arange.start_step", start, end, step)
    c.call("arange.start_step", 0, 2, 0.5, dtype=torch.float64)
    c.call("arange.start_step", 1, 10, 3, dtype=torch.int8)
    for start, end, step in ((0, 5, 0), (0, 5, -1), (5, 0, 1), (0, float("inf"), 1), (float("nan"), 1, 1)):
        c.error("arange.start_step", start, end, step)
    for start, end, steps in ((0, 1, 5), (3, -3, 4), (2.5, 7, 1), (0, 1, 0), (-1e3, 1e3, 3)):
        c.call("linspace", start, end, steps)
        c.call("linspace", start, end, steps, dtype=torch.float64)
    c.call("linspace", 0, 10, 5, dtype=torch.int64)
    c.call("linspace", 0, 1, 4, dtype=torch.float16)
    c.call("linspace.Tensor_Tensor", torch.tensor(1.0), torch.tensor(3.0), 3)
    c.call("linspace.Tensor_Scalar", torch.tensor(1), 4, 4)
    c.call("linspace.Scalar_Tensor", 1, torch.tensor(4.5), 4)
    c.error("linspace", 0, 1, -1)
    for start, end, steps, base in ((0, 3, 4, 10.0), (1, -1, 3, 2.0), (0, 1, 1, 10.0), (0, 2, 0, 3.0)):
        c.call("logspace", start, end, steps, base, tol=(1e-5, 1e-6))
    c.call("logspace", 0, 3, 4, 2.0, dtype=torch.int64)


def matrices(c):
    for n in (0, 1, 3):
        c.call("eye", n)
    c.call("eye", 2, dtype=torch.bool)
    c.call("eye.m", 2, 3)
    c.call("eye.m", 3, 1, dtype=torch.int64)
    c.call("eye.m", 0, 2)
    c.error("eye", -1)
    for name in ("tril_indices", "triu_indices"):
        for rows, columns, offset in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 3, 9), (3, 3, -9), (0, 3, 0), (3, 0, 0), (5, 3, -1), (3, 5, 1), (6, 2, -3)):
            c.call(name, rows, columns, offset)
        c.call(name, 2, 2, dtype=torch.int32)
        c.error(name, -1, 2)


def copies(c):
    c.call("copy", c.tensor((2, 3)), c.tensor((2, 3)))
    c.call("copy", c.tensor((2, 3), torch.int32), c.tensor((3,)))
    c.call("copy", c.tensor((2, 3), torch.bool), c.tensor((2, 1)))
    c.call("copy", c.tensor((2, 3), torch.float16), c.tensor((), torch.float64))
    c.call("copy", c.tensor((0, 3)), c.tensor((3,)))
    c.call("copy", c.tensor((2, 3), torch.complex64), c.tensor((2, 3)))
    c.error("copy", c.tensor((2, 3)), c.tensor((2,)))
    c.error("copy", c.tensor((3,)), c.tensor((2, 3)))


def windows(c):
    c.comment("windows of signals")
    tol = (1e-5, 1e-6)
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        for length in (0, 1, 2, 7):
            c.call(f"{name}_window", length, tol=tol)
            for periodic in (False, True):
                c.call(f"{name}_window.periodic", length, periodic, dtype=torch.float64, tol=tol)
    c.call("hamming_window.periodic_alpha", 6, True, 0.4, tol=tol)
    c.call("hamming_window.periodic_alpha_beta", 6, False, 0.4, 0.3, tol=tol)
    c.call("kaiser_window.beta", 6, True, 3.5, tol=tol)


def cases(c):
    windows(c)
    for family in (filled, sequences, matrices, copies):
        family(c)
