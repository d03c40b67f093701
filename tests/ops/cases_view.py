"""Views in their copy forms: every dtype once, negative dimensions, empty tensors and tensors without dimensions."""

import torch

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.complex64]


def view(c):
    for dtype in DTYPES:
        c.call("view_copy", c.tensor((2, 3, 2), dtype), [3, -1])
    x = c.tensor((2, 3, 4))
    for size in ([24], [-1], [4, 3, 2], [1, 2, -1, 1], [2, 3, 4]):
        c.call("view_copy", x, size, layout=True)
    c.call("view_copy", c.tensor(()), [1, 1])
    c.call("view_copy", c.tensor((1,)), [])
    c.call("view_copy", c.tensor((2, 0)), [0, 3])
    c.call("view_copy", c.tensor((2, 0)), [5, -1])
    for size in ([5], [-1, -1], [5, -1], [-2, 12], [2, 3, 5]):
        c.error("view_copy", x, size)
    c.error("view_copy", c.tensor((0,)), [0, -1])
    for name in ("alias_copy", "detach_copy", "lift_fresh_copy"):
        c.call(name, c.tensor((2, 3)))
        c.call(name, c.tensor((), torch.int8))


def squeezes(c):
    x = c.tensor((2, 3))
    for dim in (0, 1, 2, -1, -3):
        c.call("unsqueeze_copy", x, dim)
    c.call("unsqueeze_copy", c.tensor(()), 0)
    c.call("unsqueeze_copy", c.tensor(()), -1)
    c.error("unsqueeze_copy", x, 3)
    c.error("unsqueeze_copy", x, -4)
    y = c.tensor((1, 2, 1, 3, 1), torch.int32)
    c.call("squeeze_copy", y)
    c.call("squeeze_copy", c.tensor((1, 1)))
    for dim in (0, 1, 2, -1):
        c.call("squeeze_copy.dim", y, dim)
    c.call("squeeze_copy.dim", c.tensor(()), 0)
    c.call("squeeze_copy.dim", c.tensor(()), -1)
    c.call("squeeze_copy.dims", y, [0, 1, -1])
    c.call("squeeze_copy.dims", y, [])
    c.error("squeeze_copy.dim", y, 5)
    c.error("squeeze_copy.dims", y, [0, 7])


def orders(c):
    for dtype in DTYPES:
        c.call("permute_copy", c.tensor((2, 3, 4), dtype), [2, 0, -2], layout=True)
    c.call("permute_copy", c.tensor((2, 0, 4)), [2, 0, 1])
    c.call("permute_copy", c.tensor(()), [])
    c.call("permute_copy", c.tensor((1, 2, 1, 3)), [3, 2, 1, 0])
    c.error("permute_copy", c.tensor((2, 3)), [0])
    c.error("permute_copy", c.tensor((2, 3)), [0, 0])
    c.error("permute_copy", c.tensor((2, 3)), [0, 2])
    for a, b in ((0, 2), (-1, -2), (1, 1), (-3, 2)):
        c.call("transpose_copy.int", c.tensor((2, 3, 4)), a, b)
    c.call("transpose_copy.int", c.tensor(()), 0, -1)
    c.error("transpose_copy.int", c.tensor((2, 3)), 0, 2)
    for shape in ((), (3,), (2, 3), (0, 2)):
        c.call("t_copy", c.tensor(shape))
    c.error("t_copy", c.tensor((2, 3, 4)))


def parts(c):
    x = c.tensor((5, 3))
    for dim, start, end, step in ((0, 1, 4, 1), (0, None, None, 2), (1, -2, None, 1), (0, -100, 100, 3), (0, 4, 2, 1), (0, 1, -1, 2),
                                  (-1, 0, 9223372036854775807, 1), (0, 7, 9, 1), (0, 2, None, 100)):
        c.call("slice_copy.Tensor", x, dim, start, end, step)
    for dtype in DTYPES:
        c.call("slice_copy.Tensor", c.tensor((4, 2), dtype), 0, 1, None, 2)
    c.call("slice_copy.Tensor", c.tensor((0, 3)), 0, 0, 5)
    c.error("slice_copy.Tensor", x, 2)
    c.error("slice_copy.Tensor", x, 0, 0, 3, 0)
    c.error("slice_copy.Tensor", x, 0, 0, 3, -1)
    c.error("slice_copy.Tensor", c.tensor(()), 0)
    for dim, index in ((0, 0), (0, -1), (1, 2), (-1, -3)):
        c.call("select_copy.int", x, dim, index)
    c.call("select_copy.int", c.tensor((3,)), 0, 1)
    c.call("select_copy.int", c.tensor((3, 0)), 0, 1)
    for dim, index in ((0, 5), (0, -6), (2, 0)):
        c.error("select_copy.int", x, dim, index)
    c.error("select_copy.int", c.tensor(()), 0, 0)
    c.error("select_copy.int", c.tensor((0, 2)), 0, 0)
    for dim, start, length in ((0, 1, 3), (1, 0, 3), (-1, -2, 2), (0, 5, 0), (0, 0, 0)):
        c.call("narrow_copy", x, dim, start, length)
    for dim, start, length in ((0, 3, 3), (0, 0, -1), (0, -6, 1), (0, 6, 0)):
        c.error("narrow_copy", x, dim, start, length)


def lists(c):
    x = c.tensor((5, 3))
    for size, dim in ((2, 0), (5, 0), (9, 0), (1, -1)):
        c.call("split_copy.Tensor", x, size, dim)
    c.call("split_copy.Tensor", c.tensor((0, 3), torch.int64), 2, 0)
    c.call("split_copy.Tensor", c.tensor((0, 3)), 0, 0)
    c.call("split_with_sizes_copy", x, [1, 4], 0)
    c.call("split_with_sizes_copy", x, [0, 2, 1], -1)
    c.call("unbind_copy.int", x, 0)
    c.call("unbind_copy.int", x, -1)
    c.call("unbind_copy.int", c.tensor((2,), torch.bool))
    c.error("split_copy.Tensor", x, -1)
    c.error("split_copy.Tensor", x, 0)
    c.error("split_with_sizes_copy", x, [1, 3])
    c.error("split_with_sizes_copy", x, [6, -1])
    c.error("unbind_copy.int", c.tensor(()))


def windows(c):
    for shape, size in (((3, 1), [3, 4]), ((3, 1), [-1, 4]), ((3, 1), [2, 3, 4]), ((1,), [0]), ((), [2, 2]), ((2, 0), [3, 2, 0]),
                        ((1, 1), [-1, -1])):
        c.call("expand_copy", c.tensor(shape), size)
    for dtype in DTYPES:
        c.call("expand_copy", c.tensor((2, 1), dtype), [2, 3])
    for shape, size in (((3, 1), [2, 4]), ((3, 1), [3]), ((3,), [-1, 3])):
        c.error("expand_copy", c.tensor(shape), size)
    x = c.tensor((2, 3, 4))
    for offset, dim1, dim2 in ((0, 0, 1), (1, 1, 2), (-1, 1, 2), (0, -1, 0), (9, 0, 1), (-9, 0, 2), (2, 2, 1)):
        c.call("diagonal_copy", x, offset, dim1, dim2)
    c.error("diagonal_copy", x, 0, 1, 1)
    c.error("diagonal_copy", c.tensor((3,)))
    for dim, size, step in ((2, 2, 1), (0, 2, 5), (-1, 3, 2), (1, 0, 1), (1, 3, 1)):
        c.call("unfold_copy", x, dim, size, step)
    c.call("unfold_copy", c.tensor(()), 0, 1, 1)
    for dim, size, step in ((2, 5, 1), (0, 1, 0), (0, -1, 1), (3, 1, 1)):
        c.error("unfold_copy", x, dim, size, step)
    for size, stride, offset in (([2, 3], [3, 1], None), ([3, 2], [1, 2], 1), ([24], [1], 0), ([2, 2], [0, 0], 5), ([0], [1], 0), ([], [], 7)):
        c.call("as_strided_copy", x, size, stride, offset)
    for size, stride, offset in (([25], [1], None), ([2], [1, 1], None), ([2], [-1], 5), ([2], [1], -1), ([2, 2], [20, 4], 0)):
        c.error("as_strided_copy", x, size, stride, offset)
    c.call("view_as_real_copy", c.tensor((2, 3), torch.complex64))
    c.call("view_as_real_copy", c.tensor((), torch.complex128))
    c.error("view_as_real_copy", x)
    c.call("view_as_complex_copy", c.tensor((3, 2)))
    c.call("view_as_complex_copy", c.tensor((2,), torch.float64))
    c.error("view_as_complex_copy", c.tensor((2, 3)))
    c.error("view_as_complex_copy", c.tensor(()))


def parts_of_elements(c):
    z = c.tensor((2, 3), torch.complex64)
    for name in ("real", "imag"):
        c.call(name, z)
        c.call(name, c.tensor((), torch.complex128))
    c.call("real", c.tensor((2,)))
    c.error("imag", c.tensor((2,)))
    c.call("_conj_physical", z)
    for name, expected in (("_conj", z.conj().resolve_conj()), ("_neg_view", -z)):
        c.given("aten::" + name, [z], [expected])
    c.given("aten::_neg_view", [torch.tensor([1, -5])], [torch.tensor([-1, 5])])
    x = c.tensor((2, 4))
    for dtype in (torch.int32, torch.int16, torch.uint8, torch.float64, torch.float32):
        c.call("view.dtype", x if dtype != torch.float64 else x.abs() + 1, dtype)
    c.error("view.dtype", c.tensor((2, 3)), torch.float64)
    c.error("view.dtype", c.tensor(()), torch.int8)


def cases(c):
    for family in (view, squeezes, orders, parts, lists, windows, parts_of_elements):
        family(c)
