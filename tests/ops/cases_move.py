"""Joining, padding, reordering, reading and writing at places, sorting: dtypes, edges, wrong indices."""

import torch

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.complex64]
REAL = [d for d in DTYPES if d not in (torch.bool, torch.complex64)]


def ids(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


def joins(c):
    for dtype in DTYPES:
        c.call("cat", [c.tensor((2, 1), dtype), c.tensor((2, 3), dtype)], 1)
    c.call("cat", [c.tensor((2, 3)), c.tensor((1, 3), torch.int32), c.tensor((0, 3), torch.float16)], 0)
    c.call("cat", [c.tensor((2,), torch.bool), c.tensor((2,), torch.int8)], -1)
    c.call("cat", [c.tensor((0,)), c.tensor((2, 3))], 1)
    c.call("cat", [c.tensor((2, 3)), c.tensor((0,), torch.float64)], 1)
    c.call("cat", [c.tensor((0,)), c.tensor((0,))], 0)
    last = [c.tensor((1, 2, 2, 3)).to(memory_format=torch.channels_last) for _ in range(2)]
    c.call("cat", last, 1, layout=True)
    c.error("cat", [c.tensor((2, 3)), c.tensor((2, 2))], 0)
    c.error("cat", [c.tensor((2, 3)), c.tensor((2, 3, 1))], 0)
    c.error("cat", [c.tensor(())], 0)
    c.error("cat", [c.tensor((2, 3))], 2)
    for dim in (0, 1, 2, -1, -3):
        c.call("stack", [c.tensor((2, 3)), c.tensor((2, 3)), c.tensor((2, 3), torch.int64)], dim)
    c.call("stack", [c.tensor(()), c.tensor(())], 0)
    c.error("stack", [c.tensor((2, 3)), c.tensor((3, 2))], 0)
    c.error("stack", [c.tensor((2, 3))], 3)


def repeats(c):
    for shape, times in (((2,), [3]), ((2, 3), [1, 2]), ((2,), [2, 1, 2]), ((), [2]), ((), []), ((2, 3), [0, 1]), ((2, 0), [2, 2])):
        c.call("repeat", c.tensor(shape), times)
    c.call("repeat", c.tensor((2, 1), torch.int16), [2, 2])
    c.error("repeat", c.tensor((2, 3)), [2])
    c.error("repeat", c.tensor((2,)), [-1])
    for shape, times, dim in (((2, 3), 2, 1), ((2, 3), 2, None), ((3,), 3, 0), ((2, 3), 0, 0), ((), 2, None), ((2, 2), 2, -2)):
        c.call("repeat_interleave.self_int", c.tensor(shape), times, dim)
    x = c.tensor((3, 2))
    c.call("repeat_interleave.self_Tensor", x, ids(1, 0, 2), 0)
    c.call("repeat_interleave.self_Tensor", x, ids(2), 1)
    c.call("repeat_interleave.self_Tensor", x, ids(1, 2, 0, 1, 0, 3), None)
    c.call("repeat_interleave.self_Tensor", x, ids(2, 1, dtype=torch.int32), -1, output_size=3)
    c.error("repeat_interleave.self_Tensor", x, ids(1, -1, 2), 0)
    c.error("repeat_interleave.self_Tensor", x, ids(1, 2), 0)
    c.call("repeat_interleave.Tensor", ids(2, 0, 1))
    c.error("repeat_interleave.Tensor", ids(2, -1))


def reorders(c):
    x = c.tensor((2, 3, 2))
    for dims in ([0], [0, -1], [], [2, 1, 0]):
        c.call("flip", x, dims)
    c.call("flip", c.tensor((0, 2)), [0])
    c.call("flip", c.tensor(()), [])
    c.error("flip", x, [0, 0])
    c.error("flip", x, [3])
    for shifts, dims in (([1], [0]), ([-2], [1]), ([1, 5], [0, -1]), ([3], []), ([-1], []), ([1, 1], [1, 1])):
        c.call("roll", x, shifts, dims)
    c.call("roll", c.tensor((0, 2)), [1], [0])
    c.call("roll", c.tensor(()), [1], [])
    c.error("roll", x, [1, 2], [0])
    for dtype in DTYPES:
        c.call("tril", c.tensor((2, 3, 3), dtype))
        c.call("triu", c.tensor((3, 2), dtype), 1)
    for diagonal in (-1, 2, -9, 9):
        c.call("tril", c.tensor((3, 4)), diagonal)
        c.call("triu", c.tensor((3, 4)), diagonal)
    c.error("tril", c.tensor((3,)))
    for dtype in (torch.float32, torch.int8):
        c.call("pixel_shuffle", c.tensor((2, 8, 1, 2), dtype), 2)
        c.call("pixel_unshuffle", c.tensor((2, 2, 2, 4), dtype), 2)
    c.call("pixel_shuffle", c.tensor((9, 1, 2)), 3)
    c.error("pixel_shuffle", c.tensor((1, 6, 2, 2)), 2)
    c.error("pixel_shuffle", c.tensor((4, 4)), 2)
    c.error("pixel_unshuffle", c.tensor((1, 1, 3, 2)), 2)
    c.call("channel_shuffle", c.tensor((2, 6, 1, 2)), 3)
    c.error("channel_shuffle", c.tensor((2, 5, 2, 2)), 2)
    c.call("im2col", c.tensor((2, 2, 3, 4)), [2, 3], [1, 1], [0, 1], [1, 2])
    c.call("im2col", c.tensor((1, 4, 5)), [2, 2], [2, 1], [1, 1], [2, 2])
    c.call("col2im", c.tensor((1, 8, 4)), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])
    c.call("col2im", c.tensor((4, 9), torch.float16), [2, 2], [2, 2], [1, 1], [1, 1], [1, 1], tol=(5e-3, 1e-3))
    c.error("im2col", c.tensor((1, 1, 2, 2)), [3, 3], [1, 1], [0, 0], [1, 1])
    c.error("col2im", c.tensor((1, 8, 5)), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])
    c.error("col2im", c.tensor((1, 7, 4)), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])


def view_scatters(c):
    x = c.tensor((4, 3))
    c.call("slice_scatter", x, c.tensor((2, 3)), 0, 1, 4, 2)
    c.call("slice_scatter", x, c.tensor((4, 2)), -1, -2, None, 1)
    c.call("slice_scatter", x, c.tensor((0, 3)), 0, 3, 1, 1)
    c.error("slice_scatter", x, c.tensor((1, 2)), 0, 1, 4, 2)
    c.call("select_scatter", x, c.tensor((3,)), 0, -1)
    c.call("select_scatter", c.tensor((3,), torch.int32), c.tensor((), torch.int32), 0, 1)
    c.error("select_scatter", x, c.tensor((4,)), 0, 0)
    c.error("select_scatter", x, c.tensor((3,)), 0, 4)
    c.call("diagonal_scatter", x, c.tensor((2,)), 1)
    c.call("diagonal_scatter", c.tensor((2, 3, 3)), c.tensor((3, 1)), -1, 0, 2)
    c.error("diagonal_scatter", x, c.tensor((4,)), 0)
    c.call("as_strided_scatter", x, c.tensor((2, 2)), [2, 2], [4, 2], 1)
    c.error("as_strided_scatter", x, c.tensor((2, 3)), [2, 3], [12, 1], 0)


def pads(c):
    x = c.tensor((2, 2, 3))
    for dtype in DTYPES:
        c.call("constant_pad_nd", c.tensor((2, 3), dtype), [1, 2], 1)
    for pad in ([1, 0], [0, 2, 1, 1], [-1, 1], [1, 1, -1, 0, 0, 2], [], [-1, -2]):
        c.call("constant_pad_nd", x, pad, 0.5)
    c.call("constant_pad_nd", c.tensor((2, 0)), [1, 1, 0, 1], 3)
    c.call("constant_pad_nd", x[None].to(memory_format=torch.channels_last), [1, 1, 0, 2], -1, layout=True)
    c.error("constant_pad_nd", x, [1, 1, 1], 0)
    c.error("constant_pad_nd", x, [1] * 8, 0)
    c.error("constant_pad_nd", x, [-2, -2], 0)
    for d, pad in ((1, [2, 1]), (2, [1, 2, 1, 1]), (3, [1, 1, 1, 0, 0, 1])):
        for kind in ("reflection", "replication"):
            c.call(f"{kind}_pad{d}d", c.tensor((2, 2, 3, 4)[:2 + d] if d < 3 else (1, 2, 2, 3, 3)), pad if d == 1 or kind == "replication" else [1, 1] + pad[2:])
            c.call(f"{kind}_pad{d}d", c.tensor((2, 3, 3, 4)[:1 + d], torch.int32 if d < 3 else torch.float64), [0, 1] * d)
            c.error(f"{kind}_pad{d}d", c.tensor((3,) * d), [1, 1] * d)
    c.call("replication_pad1d", c.tensor((1, 2)), [3, 4])
    c.call("replication_pad2d", c.tensor((1, 3, 3)), [-1, 2, 0, -1])
    c.error("reflection_pad1d", c.tensor((1, 3)), [3, 0])
    c.error("reflection_pad2d", c.tensor((1, 3, 3)), [0, 0, 0, 3])
    c.error("replication_pad1d", c.tensor((2, 0)), [1, 1])
    c.error("reflection_pad1d", c.tensor((1, 3)), [-2, -2])


def index(c):
    x = c.tensor((4, 3, 5))
    for dtype in DTYPES:
        c.call("index.Tensor", c.tensor((4, 2), dtype), [ids(3, 0, -1)])
    rows, columns = torch.tensor([[0, 3], [-1, 1]]), ids(2, 0, dtype=torch.int32)
    lists = ([rows], [None, columns], [rows, columns], [rows, None, columns], [None, columns, ids(4, -5)], [columns, ids(1), ids(4, 0)],
             [torch.tensor(2)], [torch.tensor(2), None, torch.tensor(-1)], [ids()], [None, None, rows], [torch.zeros(2, 0, dtype=torch.int64), columns[:1]])
    for indices in lists:
        c.call("index.Tensor", x, indices)
    c.call("index.Tensor", c.tensor((3, 0)), [ids(0, 2)])
    c.error("index.Tensor", x, [ids(4)])
    c.error("index.Tensor", x, [None, ids(-4)])
    c.error("index.Tensor", x, [ids(0, 1), ids(0, 1, 2)])
    c.error("index.Tensor", x, [ids(0)] * 4)
    c.error("index.Tensor", c.tensor((0, 3)), [ids(0)])
    c.error("index.Tensor", x, [torch.tensor([0.5])])
    c.error("index.Tensor", x, [torch.tensor([True, False])])
    for indices in lists[:8]:
        shape = torch.ops.aten.index.Tensor(x, indices).shape
        c.call("index_put", x, indices, c.tensor(shape))
        c.call("index_put", x, indices, c.tensor((1,)), True)
    for dtype in DTYPES:
        c.call("index_put", c.tensor((4,), dtype), [ids(1, 1, 3)], c.tensor((3,), dtype), dtype != torch.bool)
    mask = torch.tensor([True, False, True, True])
    c.call("index_put", x, [mask], c.tensor((3, 5)))
    c.call("index_put", x, [c.tensor((4, 3), torch.bool)], c.tensor(()))
    c.call("index_put", c.tensor((2, 2)), [torch.zeros(2, 2, dtype=torch.bool)], c.tensor(()))
    c.call("index_put", x, [mask, None, ids(0, 1, 4)], c.tensor((3, 3)), True)
    for indices in ([mask], [None, c.tensor((3,), torch.bool)], [c.tensor((4, 3), torch.bool)], [mask, None, ids(0, 1, 4)],
                    [torch.zeros(4, dtype=torch.bool)], [mask.to(torch.uint8), ids(2)], [None, c.tensor((3, 5), torch.bool)]):
        c.call("index.Tensor", x, indices)
    c.error("index.Tensor", x, [mask, ids(0, 1)])
    c.error("index_put", x, [ids(5)], c.tensor(()))
    c.error("index_put", x, [ids(1)], c.tensor((2, 3, 4)))


def one_index(c):
    x = c.tensor((4, 3))
    for dtype in DTYPES:
        c.call("index_select", c.tensor((3, 2), dtype), 0, ids(2, 0))
        c.call("gather", c.tensor((3, 2), dtype), 0, torch.tensor([[2, 0], [1, 1]]))
    c.call("index_select", x, -1, ids(1, 1, 0, dtype=torch.int32))
    c.call("index_select", x, 0, torch.tensor(2))
    c.call("index_select", c.tensor(()), 0, ids(0))
    c.call("index_select", x, 0, ids())
    c.error("index_select", x, 0, ids(4))
    c.error("index_select", x, 0, torch.tensor([[0]]))
    c.error("index_select", x, 2, ids(0))
    c.call("gather", x, 1, torch.tensor([[2, 0], [1, 1], [0, 2]]))
    c.call("gather", x, -1, torch.zeros(4, 0, dtype=torch.int64))
    c.call("gather", c.tensor(()), 0, torch.tensor(0))
    c.call("gather", c.tensor((3,)), 0, torch.tensor(2))
    c.call("gather", c.tensor((3,)), 0, torch.zeros(2, 0, dtype=torch.uint8))
    c.error("gather", x, 1, torch.tensor([[3]]))
    c.error("gather", x, 0, torch.zeros(1, 4, dtype=torch.int64))
    c.error("gather", x, 0, ids(0))
    c.call("take", x, torch.tensor([[11, 0], [-1, 5]]))
    c.call("take", c.tensor(()), ids(0, 0))
    c.error("take", x, ids(12))
    c.call("put", x, ids(0, 5, 5), c.tensor((3,)), True)
    c.call("put", x, ids(11, 2), c.tensor((2,)))
    c.error("put", x, ids(12), c.tensor((1,)))
    for dtype in DTYPES:
        c.call("index_copy", c.tensor((3, 2), dtype), 0, ids(2, 0), c.tensor((2, 2), dtype))
        if dtype != torch.bool:
            c.call("index_add", c.tensor((3, 2), dtype), 0, ids(2, 0, 2), c.tensor((3, 2), dtype))
    c.call("index_add", x, 1, ids(1, 1, dtype=torch.int32), c.tensor((4, 2)), alpha=2.5)
    c.call("index_add", c.tensor(()), 0, ids(0), c.tensor(()))
    c.error("index_add", x, 0, ids(4), c.tensor((1, 3)))
    c.error("index_add", x, 0, ids(1), c.tensor((2, 3)))
    c.call("index_fill.int_Scalar", x, 1, ids(0, -1), 7)
    c.call("index_fill.int_Scalar", c.tensor((3,), torch.int16), 0, torch.tensor(1), 7)
    c.call("index_fill.int_Tensor", x, 0, ids(3), torch.tensor(2.5))
    c.error("index_fill.int_Scalar", x, 0, ids(4), 1)
    for reduce in ("prod", "mean", "amax", "amin"):
        for include in (True, False):
            for dtype in (torch.float32, torch.int32, torch.float16):
                c.call("index_reduce", c.tensor((3, 2), dtype, 1, 4), 0, ids(2, 0, 2), c.tensor((3, 2), dtype, 1, 4), reduce,
                       include_self=include)


def scatters(c):
    x, i = c.tensor((3, 4)), torch.tensor([[0, 2, 1], [2, 0, 0]])
    for dtype in DTYPES:
        c.call("scatter.src", c.tensor((3, 3), dtype), 1, torch.tensor([[2, 0], [1, 2]]), c.tensor((3, 3), dtype))
        if dtype != torch.bool:
            c.call("scatter_add", c.tensor((3, 3), dtype), 0, torch.tensor([[2, 0], [2, 2], [2, 1]]), c.tensor((3, 3), dtype))
    c.call("scatter.value", x, 0, i, 9)
    c.call("scatter.value", c.tensor((3, 4), torch.int32), -1, i, 2.9)
    c.call("scatter.src", c.tensor(()), 0, torch.tensor(0), c.tensor(()))
    c.call("scatter.src", x, 0, torch.zeros(0, 3, dtype=torch.int64), c.tensor((3, 4)))
    c.call("scatter.reduce", x, 0, i, c.tensor((2, 3)), reduce="add")
    c.call("scatter.reduce", x, 0, i, c.tensor((2, 3)), reduce="multiply")
    c.call("scatter.value_reduce", x, 0, i, 2, reduce="multiply")
    c.error("scatter.reduce", x, 0, i, c.tensor((2, 3)), reduce="sum")
    c.error("scatter.src", x, 0, torch.tensor([[3]]), c.tensor((1, 1)))
    c.error("scatter.src", x, 0, i, c.tensor((1, 3)))
    c.error("scatter.value", x, 0, torch.zeros(1, 5, dtype=torch.int64), 1)
    c.error("scatter_add", x, 0, ids(0), c.tensor((1,)))
    nan = torch.tensor([[float("nan"), 1, 2], [3, float("nan"), -1]])
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
                c.call("scatter_reduce.two", c.tensor((3, 4), dtype, 1, 5), 0, i, c.tensor((2, 3), dtype, 1, 5), reduce,
                       include_self=include)
            c.call("scatter_reduce.two", x, 0, i, nan, reduce, include_self=include)
    c.error("scatter_reduce.two", x, 0, i, nan, "add")


def masks(c):
    x, mask = c.tensor((3, 4)), c.tensor((3, 4), torch.bool)
    for dtype in DTYPES:
        c.call("masked_select", c.tensor((3, 4), dtype), mask)
        c.call("nonzero", c.tensor((2, 3), dtype))
    c.call("masked_select", x, mask[0])
    c.call("masked_select", c.tensor((4,)), mask)
    c.call("masked_select", c.tensor(()), torch.tensor(True))
    c.call("masked_select", c.tensor((0,)), torch.zeros(0, dtype=torch.bool))
    c.error("masked_select", x, c.tensor((3,), torch.bool))
    c.call("masked_scatter", x, mask, c.tensor((12,)))
    c.call("masked_scatter", x, mask[0], c.tensor((2, 6)))
    c.error("masked_scatter", x, torch.ones(3, 4, dtype=torch.bool), c.tensor((11,)))
    c.call("nonzero", c.tensor(()))
    c.call("nonzero", torch.tensor(0))
    c.call("nonzero", c.tensor((0, 2)))
    c.call("nonzero_static", ids(0, 5, 6), size=1)
    c.call("nonzero_static", torch.tensor([[0, 5], [6, 0]]), size=4, fill_value=-7)


def order(c):
    ties = torch.tensor([[2.0, float("nan"), -1, 2, 0.0, -0.0], [float("inf"), 1, float("-inf"), 1, 5, 5]])
    for descending in (False, True):
        for dtype in REAL:
            c.call("sort.stable", c.tensor((3, 5), dtype, 0, 4), stable=True, dim=0, descending=descending)
        c.call("sort.stable", ties, stable=True, descending=descending)
        c.call("sort.stable", c.tensor((5,), torch.bool), stable=True, descending=descending)
        c.call("sort", torch.tensor([3, 1, 2]), 0, descending)
        c.call("topk", torch.tensor([[3, 1, 2, 5], [-1, 7, 0, 4]]), 3, -1, descending)
        c.call("topk", torch.tensor([[3.0, 1], [2, 5], [4, float("nan")]]), 2, 0, descending)
    c.call("sort", c.tensor(()))
    c.call("sort", c.tensor((2, 0)))
    c.call("topk", c.tensor((4,)), 0)
    c.call("topk", c.tensor(()), 1)
    for size, k in ((40, 7), (40, 30), (200, 3), (300, 2), (100, 100), (70, 1), (17, 17)): # many equal elements: the same are chosen
        for largest in (True, False):
            c.call("topk", c.tensor((size,), torch.int8, 0, 6), k, 0, largest)
    c.call("topk", c.tensor((3, 60), torch.uint8, 0, 9), 20, 1, True, False)
    c.call("topk", torch.arange(64).to(torch.int16), 40)
    c.error("sort", c.tensor((2,)), 1)
    c.error("topk", c.tensor((4,)), 5)
    c.error("topk", c.tensor((4,)), -1)
    c.error("sort", c.tensor((2,), torch.complex64))
    steps = torch.tensor([1.0, 3, 3, 5])
    for right in (False, True):
        for int32 in (False, True):
            c.call("searchsorted.Tensor", steps, torch.tensor([[0.0, 1, 3], [4, 5, float("nan")]]), out_int32=int32, right=right)
            c.call("bucketize.Tensor", torch.tensor([[0, 1, 3], [4, 5, 6]]), ids(1, 3, 3, 5), out_int32=int32, right=right)
        c.call("searchsorted.Tensor", torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[2], [7]]), right=right)
        c.call("searchsorted.Scalar", steps, 3, right=right)
        c.call("bucketize.Scalar", 4.5, steps, right=right)
    c.call("searchsorted.Tensor", torch.tensor([5, 1, 3]), ids(2, 4), side="right", sorter=ids(1, 2, 0))
    c.error("searchsorted.Tensor", torch.zeros(2, 3), torch.zeros(3, 2))
    c.error("bucketize.Tensor", steps, torch.zeros(2, 2))
    for x in (torch.tensor([[3, 1], [2, 3]]), torch.tensor([1.5, float("nan"), 1.5, -2]), c.tensor((6,), torch.bool),
              c.tensor((2, 5), torch.uint8, 0, 3), c.tensor((0,)), c.tensor(())):
        for inverse, counts in ((False, False), (True, True)):
            c.call("_unique2", x, True, inverse, counts)
            c.call("unique_consecutive", x, inverse, counts)
    c.call("unique_consecutive", ids(5, 5, 3, 5), False, False, 0)
    c.call("unique_consecutive", ids(5, 5, 3, 5), False, False, -1)
    for dim in (0, 1, -2):
        c.call("unique_consecutive", torch.tensor([[1, 1, 2, 2], [1, 1, 2, 2], [1, 1, 1, 2]]), True, True, dim)
        c.call("unique_dim_consecutive", torch.tensor([[1, 1, 2, 2], [1, 1, 2, 2], [1, 1, 1, 2]]), dim, True, True)


def combinations(c):
    c.call("block_diag", [c.tensor((2, 3)), c.tensor((2,), torch.int64), c.tensor(()), c.tensor((0, 2))])
    c.error("block_diag", [c.tensor((1, 1, 1))])
    c.call("cartesian_prod", [ids(1, 2), ids(3, 4, 5), ids(6)])
    c.call("cartesian_prod", [ids(1, 2)])
    c.call("cartesian_prod", [ids(1, 2), ids()])
    c.error("cartesian_prod", [torch.tensor([[1]])])
    for n, r, repeat in ((4, 2, False), (4, 3, True), (3, 4, False), (3, 1, True), (2, 3, True), (5, 5, False), (0, 2, False)):
        c.call("combinations", c.tensor((n,)), r, repeat)
    c.error("combinations", c.tensor((2, 2)))
    for offset in (0, 2, -1):
        c.call("diagflat", c.tensor((2, 2)), offset)
    c.call("diagflat", c.tensor((), torch.bool))
    for offset, dim1, dim2 in ((0, -2, -1), (1, 0, 2), (-2, 1, 0)):
        c.call("diag_embed", c.tensor((2, 3)), offset, dim1, dim2)
    c.call("diag_embed", c.tensor((2,), torch.int8))
    c.error("diag_embed", c.tensor((2,)), 0, 1, 1)
    c.error("diag_embed", c.tensor(()))
    mask = torch.tensor([[True, False], [False, False]])
    c.call("_unsafe_masked_index", c.tensor((3, 4)), mask, [ids(0, 9)[:, None], ids(1, -1)], 7.0)
    for x, dim in ((torch.tensor([[1, 2], [0, 3], [1, 2]]), 0), (torch.tensor([[2, 1, 2], [5, 6, 5]]), 1), (torch.tensor([[2.0, -0.0], [2, 0]]), 0)):
        c.call("unique_dim", x, dim, True, True, True)


def cases(c):
    for family in (combinations, joins, repeats, reorders, view_scatters, pads, index, one_index, scatters, masks, order):
        family(c)
