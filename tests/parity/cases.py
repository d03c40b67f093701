"""Faults that real users of such systems met, each tried with its whole kind: `python tests/parity/cases.py [NAME...]`.

RU06 and RU07 (malformed files) are C tests: runtime/hostile_test.c, format/ptd_test.c and the fuzzers; RU14 (nested parallel loops) is
platform/posix/threads_test.c, RU13 under the thread sanitizer runtime/share_test.c.

A case exports small modules, compiles them for both targets, with and without reuse of memory (which must give the same bits), runs
several calls on one loaded method, and compares every output with eager PyTorch. Needs torch and the package fidibus.
"""

import collections
import concurrent.futures
import contextlib
import copy
import pathlib
import sys
import tempfile

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F
from torch.utils import _pytree as pytree

import fidibus

CASES = {}


class Wrong(Exception):
    """What a case found wrong."""


def case(function):
    """Decorator: registers a case. Its docstring says what went wrong elsewhere."""
    CASES[function.__name__] = function
    return function


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs):
        return self.function(*inputs)


# ---- Comparing ------------------------------------------------------------------------------------------------------------


def compare(found, expected, rtol, atol):
    found, expected = pytree.tree_leaves(found), pytree.tree_leaves(expected)
    if len(found) != len(expected):
        raise Wrong(f"{len(found)} outputs, expected {len(expected)}")
    for i, (f, e) in enumerate(zip(found, expected)):
        if not isinstance(e, torch.Tensor):
            if f != e:
                raise Wrong(f"output {i} is {f}, expected {e}")
            continue
        try:
            torch.testing.assert_close(f, e, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as error:
            raise Wrong(f"output {i}: {' '.join(str(error).split())[:200]}") from None


def same_bits(a, b):
    for x, y in zip(pytree.tree_leaves(a), pytree.tree_leaves(b)):
        if isinstance(x, torch.Tensor) and not torch.equal(x.contiguous().view(torch.uint8) if x.dim() else x, y.contiguous().view(torch.uint8) if y.dim() else y):
            if not (x.is_floating_point() and torch.equal(x.isnan(), y.isnan()) and torch.equal(x.nan_to_num(), y.nan_to_num())):
                raise Wrong("with and without reuse of memory the outputs differ")


@contextlib.contextmanager
def archive(module, example, dynamic=None, kwargs=None, decompose=False):
    """The exported module in a file."""
    with tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(module, example, kwargs, dynamic_shapes=dynamic, strict=False)
        if decompose:
            exported = exported.run_decompositions()
        path = pathlib.Path(folder) / "model.pt2"
        torch.export.save(exported, path)
        yield path


def load(path, target="cpu", no_reuse=False, **options):
    program = path.with_suffix(f".{target}.pte")
    fidibus.compile(path, program, target=target, no_reuse=no_reuse, **options)
    return fidibus.Runtime.get().load_program(program).load_method("forward")


def same(module, *calls, dynamic=None, targets=("cpu", "portable"), rtol=1e-5, atol=1e-5):
    """Every call gives what eager gives, in this order on one loaded method; the first call is the example of the export."""
    if not isinstance(module, nn.Module):
        module = Call(module)
    if isinstance(module, Call) and dynamic:
        dynamic = (tuple(dynamic),)  # of *inputs
    module.eval()
    with torch.no_grad(), archive(copy.deepcopy(module), calls[0], dynamic) as path:
        eager = copy.deepcopy(module)
        expected = [pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, eager(*copy.deepcopy(c))) for c in calls]
        for target in targets:
            method, apart = load(path, target), load(path, target, no_reuse=True)
            for i, call in enumerate(calls):
                try:
                    leaves = pytree.tree_leaves(call)
                    found = method.execute(leaves)
                    compare(found, expected[i], rtol, atol)
                    same_bits(found, apart.execute(leaves))
                except Exception as error:
                    raise Wrong(f"{target}, call {i}: {type(error).__name__}: {error}") from None


def refused(act, *phrases):
    """The act fails with a sentence that has all the phrases."""
    try:
        act()
    except (fidibus.Error, ValueError, TypeError) as error:
        for phrase in phrases:
            if phrase not in str(error):
                raise Wrong(f"'{phrase}' is not in '{error}'") from None
        return
    raise Wrong(f"no error; expected '{phrases[0]}'")


def last(x):
    return x.to(memory_format=torch.channels_last)


# ---- Export and lowering -----------------------------------------------------------------------------------------------------


@case
def layout_is_kept_by_clone_and_to():
    """EX02: clone and to(dtype) of a channels-last tensor came out contiguous."""
    x = last(torch.rand(2, 3, 4, 5))
    same(lambda x: (x.clone() * 2, x.to(torch.float64), x.to(torch.int32), x.float() + 1, torch.empty_like(x).fill_(2)), (x,))
    same(lambda x: (x.contiguous() * 2, x.clone(memory_format=torch.contiguous_format), x.permute(0, 2, 3, 1).clone()), (x,))
    same(lambda x: x.to(memory_format=torch.channels_last) * 2, (torch.rand(2, 3, 4, 5),))
    x5 = torch.rand(1, 2, 3, 4, 5).to(memory_format=torch.channels_last_3d)
    same(lambda x: (x.clone() + 1, x.to(torch.float64)), (x5,))


@case
def lists_of_one_item_stand_for_all_dimensions():
    """EX04, EX05: stride=[2] was taken for a 1-d convolution; a stride left out crashed."""
    x = torch.rand(1, 3, 16, 16)
    same(nn.Conv2d(3, 3, 5, stride=[2]), (x,))
    same(nn.Conv2d(3, 3, 3, dilation=[2], padding=[1]), (x,))
    same(nn.Conv3d(2, 2, 2, stride=[2]), (torch.rand(1, 2, 5, 6, 7),))
    y = torch.rand(1, 2, 9, 9)
    for module in (nn.MaxPool2d([3]), nn.AvgPool2d([3]), nn.MaxPool2d(3, stride=[2], padding=[1]), nn.MaxPool2d([2], ceil_mode=True)):
        same(module, (y,))
    same(lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1, return_indices=True)), (y,))
    same(lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, [2])), (y[0],))
    same(lambda x: (F.max_pool3d(x, [2]), F.avg_pool3d(x, 2)), (torch.rand(1, 2, 4, 5, 6),))


@case
def lists_of_views():
    """EX06: an operator that gives a list of views was not seen as aliasing."""

    def split(x):
        a, b, c = x.split([3, 3, 4], 1)
        return a + 1, b * 2, c

    x = torch.rand(4, 10)
    same(split, (x,))
    same(lambda x: tuple(x.chunk(3, 1)) + tuple(x.tensor_split(3, 1)) + tuple(x.tensor_split((2, 7), 1)) + tuple(x.unbind(0)), (x,))
    same(lambda x: [t * 2 for t in x.hsplit(2)] + [t + 1 for t in x.vsplit(2)], (x,))

    def write(x):
        a, b = (x * 1).chunk(2, 1)
        a.add_(1)
        return a, b

    same(write, (x,))


@case
def while_loops():
    """EX07: while_loop was refused; zero rounds count."""
    from torch._higher_order_ops.while_loop import while_loop

    class Loop(nn.Module):
        def forward(self, n, x):
            return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 0.5 + 1), (torch.zeros((), dtype=torch.int64), x))

    x = torch.rand(3)
    same(Loop(), *((torch.tensor(n), x) for n in (7, 0, 1, 3)))


@case
def state_is_written_back():
    """EX09, EX10: mutated buffers lost their starting value or the update."""

    class Cache(nn.Module):
        def __init__(self, persistent=True):
            super().__init__()
            self.register_buffer("cache", torch.ones(1, 4, 8), persistent=persistent)

        def forward(self, x):
            self.cache.copy_(torch.cat([self.cache, x], -1)[..., -8:])
            return self.cache.mean(-1)

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("k", torch.arange(128.0).view(1, 16, 2, 4), persistent=False)

        def forward(self, position, v):
            self.k.index_copy_(1, position, v)
            return self.k + 0

    same(Cache(), *((torch.rand(1, 4, 2),) for _ in range(3)))
    same(Cache(False), *((torch.rand(1, 4, 2),) for _ in range(3)))
    same(Rows(), *((torch.tensor(p), torch.rand(1, 2, 2, 4)) for p in ([3, 9], [0, 1], [9, 15])))


@case
def channels_last_inputs():
    """EX11, EX12: channels-last inputs were refused or wrong, also where strides say nothing (one channel, one pixel)."""
    block = nn.Sequential(nn.Conv2d(5, 11, 3, padding=1), nn.Sigmoid())
    both = Call(lambda x: block(x).mean((2, 3)))
    both.block = block
    for x in (torch.rand(2, 5, 13, 7), last(torch.rand(2, 5, 13, 7))):
        same(both, (x,))
    for module, shape in ((nn.Conv2d(1, 5, 1), (1, 1, 7, 5)), (nn.Conv2d(8, 3, 1), (1, 8, 1, 1)), (nn.Conv2d(1, 2, (3, 1)), (2, 1, 7, 1))):
        same(module, (last(torch.rand(shape)),))
        same(module, (torch.rand(shape),))
    same(lambda x: (x.flatten(1), x.view(-1), x.mean(1), x.amax((2, 3), keepdim=True), F.interpolate(x, scale_factor=2.0)), (last(torch.rand(1, 3, 2, 2))[:, :, :1, :1],))


@case
def sizes_that_data_tell():
    """EX13, EX16: nonzero and what is made of its result."""

    def joined(x):
        index = torch.nonzero(x > 0).flatten()
        return torch.cat([index, torch.arange(3)])

    same(joined, (torch.tensor([1.0, -1, 2, -3, 4, -5, 6, -7]),), (-torch.ones(8),), (torch.ones(8),))
    dense, one = torch.rand(64, 10) + 0.1, torch.zeros(64, 10)
    one[5, 3] = 2
    same(lambda x: torch.nonzero(x), (one,), (torch.zeros(64, 10),), (dense,))
    same(lambda x: x[x > 0.5], (torch.rand(5, 4),), (torch.zeros(5, 4),), (torch.ones(5, 4),))
    same(lambda x: torch.masked_select(x, x > 0).sum() + 1, (torch.tensor([1.0, -2, 3]),), (-torch.ones(3),))
    same(lambda x: torch.unique(x), (torch.tensor([3, 1, 3, 2]),), (torch.tensor([1, 1, 1, 1]),), targets=("cpu",))


@case
def indices_that_data_tell():
    """x[i] with i in a tensor: any index within the dimension, from its end too, and of dimensions of size 1."""
    x = torch.rand(4, 1, 3)
    same(lambda x, i: (x[i], x.select(2, i) * 2, x[i:], x[:i]), *((x, torch.tensor(i)) for i in (2, 0, 1)))
    same(lambda x, i: x[i], *((x, torch.tensor(i)) for i in (3, -4, -1, 0)))
    same(lambda x, i: (x.transpose(0, 1)[i], x.select(1, i)), *((x, torch.tensor(i)) for i in (0, -1)))


@case
def tensors_without_dimensions():
    """EX14: a 0-d input was refused."""
    same(lambda n, x: (x * n, n + 1, n.clone()), (torch.tensor(4), torch.rand(3)), (torch.tensor(-1), torch.rand(3)))
    same(lambda n: (n * 2, n.reshape(1), n.expand(3)), (torch.tensor(1.5),))


@case
def recurrent_layers():
    """EX17: LSTM and GRU, with a length that changes."""

    class Run(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x)

    same(Run(nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True)), (torch.rand(2, 7, 3),))
    same(Run(nn.RNN(3, 5, 2, nonlinearity="relu")), (torch.rand(4, 2, 3),))
    same(Run(nn.LSTM(3, 6, proj_size=2)), (torch.rand(4, 2, 3),), targets=("cpu",))
    for layer in (nn.GRU(3, 4), nn.LSTM(3, 4, batch_first=True)):
        axis = int(not layer.batch_first)  # the batch
        calls = [(torch.rand(5, n, 3) if axis else torch.rand(n, 5, 3),) for n in (4, 1, 16, 2)]
        same(Run(layer), *calls, dynamic=({axis: Dim("n", min=1, max=16)},), targets=("cpu",))


@case
def saved_and_loaded_programs():
    """EX18: a program was lowered otherwise after it was saved and loaded."""
    module = nn.Conv1d(1, 1, 32)
    x = torch.rand(1, 1, 64)
    exported = torch.export.export(module, (x,))
    direct = fidibus.to_edge_transform_and_lower(exported).to_executorch().buffer
    with archive(module, (x,)) as path:
        again = fidibus.to_edge_transform_and_lower(torch.export.load(path)).to_executorch().buffer
    if direct != again:
        raise Wrong("two programs")
    same(module, (x,))


@case
def pads_and_blocks_of_mobile_networks():
    """EX19, EX20: a pad before a 1x1 convolution crashed an optimizer; folded norms changed the logits."""

    class Pad(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.linear = nn.Conv2d(2, 1, 1), nn.Linear(2, 1)

        def forward(self, x):
            return self.linear(self.conv(F.pad(x, [0, 1, 0, 1, 1, 0], value=0.5)))

    class Squeeze(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8, eps=1e-3)
            self.down, self.up = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)
            self.norm.running_mean.normal_()
            self.norm.running_var.uniform_(0.2, 3)

        def forward(self, x):
            x = F.hardswish(self.norm(self.conv(x)))
            return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))

    same(Pad(), (torch.rand(2, 1, 1, 1),))
    same(Squeeze(), (torch.ones(1, 3, 9, 9),), rtol=1e-4, atol=1e-4)
    for pads in ([1, -1], [-1, 2, 0, -1], [0, 0, 1, 1], [2, 1, 0, 3, 1, 0]):
        same(lambda x, pads=pads: F.pad(x, pads, value=-1.5), (torch.rand(2, 3, 4),))
    for mode in ("reflect", "replicate", "circular"):
        same(lambda x, mode=mode: F.pad(x, [1, 2, 2, 1], mode=mode), (torch.rand(1, 2, 4, 5),))


# ---- Numbers ---------------------------------------------------------------------------------------------------------------------


@case
def antialiased_resampling():
    """NU03, RU01: only four taps were summed; odd explicit scales crashed."""
    for size, shape in (((5, 7), (1, 2, 32, 30)), ((8, 8), (1, 2, 5, 5)), ((1, 1), (1, 1, 9, 7)), ((3, 40), (2, 1, 31, 4))):
        for mode in ("bilinear", "bicubic"):
            for align in (False, True):
                same(lambda x, s=size, m=mode, a=align: F.interpolate(x, size=s, mode=m, antialias=True, align_corners=a), (torch.rand(shape),), targets=("cpu",), rtol=1e-4)
    aa = torch.ops.aten._upsample_bilinear2d_aa.default
    same(lambda x: aa(x, [7, 2], False, 0.01, 10.0), (torch.rand(8, 2, 7, 1),), targets=("cpu",))
    same(lambda x: F.interpolate(x, scale_factor=(0.3, 2.7), mode="bilinear", recompute_scale_factor=False), (torch.rand(1, 2, 11, 9),))


@case
def pointwise_of_integers_and_bools():
    """NU04, NU05, RU10: float functions of bools, bounds at the dtype's end, shifts of negative numbers."""
    b = torch.rand(4, 7, 1, 1, 7, 2) > 0.5
    same(lambda b: (torch.sigmoid(b), torch.exp(b), torch.sqrt(b), torch.tanh(b), b.float().mean()), (b,))
    i = torch.randint(0, 5, (4, 3))
    same(lambda i: (torch.sigmoid(i), torch.exp(i), torch.rsqrt(i + 1), i / 3, i.float().softmax(1)), (i,))
    same(lambda x: F.hardtanh(x, 131, 255.0), (torch.randint(0, 256, (4, 7), dtype=torch.uint8),), targets=("cpu",))
    same(lambda x: x.clamp(10, 200), (torch.randint(0, 256, (4, 7), dtype=torch.uint8),))
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        same(lambda x: (x >> 2, x << 1, torch.bitwise_right_shift(x, x.abs() % 7)), (torch.tensor([-128, -7, -1, 0, 1, 5, 100, 127], dtype=dtype),), targets=("cpu",))
        same(lambda x: (x // 3, x % 3, x.abs(), -x, ~x, torch.div(x, 2, rounding_mode="trunc")), (torch.tensor([-127, -7, -1, 0, 5, 127], dtype=dtype),))


@case
def broadcasting_keeps_the_larger_rank():
    """NU06: extra leading ones gave the output a wrong rank."""
    for a, b in (((5,), (1, 1, 5)), ((1, 3, 5), (3, 1)), ((1,), (1, 1, 1)), ((), (1, 1)), ((2, 1, 4), (1, 3, 1)), ((0, 3), (1, 1, 3))):
        x, y = torch.rand(a), torch.rand(b)
        for p, q in ((x, y), (y, x)):
            same(lambda p, q: (p + q, p * q, torch.where(p > q, p, q), torch.maximum(p, q), p > q, p.double() - q), (p, q))


@case
def pools_divide_as_they_are_told():
    """NU07: divisor_override was ignored where padding is not counted."""
    x = torch.rand(1, 1, 6, 6)
    for ceil in (False, True):
        for count in (False, True):
            for divisor in (None, 2, 5):
                same(lambda x, c=ceil, n=count, d=divisor: F.avg_pool2d(x, 3, 2, 1, ceil_mode=c, count_include_pad=n, divisor_override=d), (x,))


@case
def same_padding_of_even_kernels():
    """NU08: padding "same" with an even kernel is not symmetric."""
    same(nn.Sequential(nn.Conv2d(1, 16, (32, 1), padding="same"), nn.ReLU()), (torch.rand(1, 1, 256, 1),))
    same(nn.Conv1d(4, 8, 4, padding="same"), (torch.rand(1, 4, 20),))
    same(nn.Conv1d(4, 8, 4, padding="same", dilation=3, groups=2), (torch.rand(1, 4, 20),))
    same(nn.Conv2d(2, 2, (2, 3), padding="same"), (last(torch.rand(1, 2, 5, 7)),))


def quantized(module, args, **options):
    """The module as PyTorch's own quantization makes it: int8 between quantize and dequantize operators."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**options))
    prepared = prepare_pt2e(torch.export.export(module.eval(), args).module(), quantizer)
    for _ in range(3):
        prepared(*(torch.rand_like(a) for a in args))
    return convert_pt2e(prepared)


def same_quantized(module, *args, targets=("cpu", "portable"), **options):
    """Every integer between is the same one, so the result differs by float rounding only, or by one step where it is rounded again."""
    converted = quantized(module, args, **options)
    exported = torch.export.export(converted, args)
    steps = [node.args[1] for node in exported.graph.nodes if "quantize_per_tensor" in str(node.target) and isinstance(node.args[1], float)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.pt2"
        torch.export.save(exported, path)
        for target in targets:
            compare(load(path, target).execute(list(args)), [converted(*args)], 1e-5, 1.01 * steps[-1] if steps else 1e-5)


@case
def quantized_layers():
    """NU08: a quantized convolution with padding "same" and an even kernel; dynamic quantization."""
    same_quantized(nn.Sequential(nn.Conv2d(1, 16, (32, 1), padding="same"), nn.ReLU()), torch.rand(1, 1, 256, 1), is_per_channel=True)
    same_quantized(nn.Conv1d(4, 8, 4, padding="same"), torch.rand(1, 4, 20), is_per_channel=True)
    same_quantized(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), torch.rand(2, 8), is_per_channel=True, is_dynamic=True)


@case
def quantized_scales_differ():
    """NU16: a concatenation took its scale from the wrong input; a constant of one number a channel beside a channels-last result."""

    class Join(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 6), nn.Linear(4, 6)

        def forward(self, x):
            return torch.cat([self.a(x) * 5, self.b(x) * 0.2], 1)

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.scale = nn.Conv2d(3, 4, 3), nn.Parameter(torch.rand(1, 4, 1, 1))

        def forward(self, x):
            return self.conv(x) * self.scale

    same_quantized(Join(), torch.rand(1, 3, 4), is_per_channel=True)
    same_quantized(Scale(), torch.rand(1, 3, 8, 8), is_per_channel=True)
    same_quantized(Scale(), last(torch.rand(1, 3, 8, 8)), is_per_channel=False)


@case
def quantizing_operators():
    """Every form of quantizing and back, to the bit: scales of tensors, channels, groups and rows, in float32 and float64."""
    import torch.ao.quantization.fx._decomposed  # registers them

    ops, int8, x, q = torch.ops.quantized_decomposed, (-128, 127, torch.int8), torch.randn(3, 4, 8) * 3, torch.randint(-128, 128, (3, 4, 8), dtype=torch.int8)
    exact = lambda function, *args: same(function, args, rtol=0, atol=0)
    exact(lambda x, h: (ops.quantize_per_tensor(x, 0.037, 3, *int8), ops.quantize_per_tensor(h, 0.1, 128, 0, 255, torch.uint8)), x, x.half())
    exact(lambda q: (ops.dequantize_per_tensor(q, 0.037, 3, *int8), ops.dequantize_per_tensor(q, 0.037, 3, *int8, out_dtype=torch.float16)), q)
    one = torch.tensor([0.037], dtype=torch.float64), torch.tensor([3])
    exact(lambda x, q, s, z: (ops.quantize_per_tensor.tensor(x, s, z, *int8), ops.dequantize_per_tensor.tensor(q, s, z, *int8)), x, q, *one)
    for dtype in (torch.float32, torch.float64):
        for axis in range(3):
            scales, zeros = (torch.rand(x.shape[axis]) + 0.01).to(dtype), torch.randint(-5, 5, (x.shape[axis],))
            exact(lambda x, q, s, z: (ops.quantize_per_channel(x, s, z, axis, *int8), ops.dequantize_per_channel(q, s, z, axis, *int8)), x, q, scales, zeros)
        rows = (torch.rand(3, 4, 1) + 0.01).to(dtype), torch.randint(-5, 5, (3, 4, 1))
        exact(lambda x, q, s, z: (ops.quantize_per_token(x, s, z, *int8), ops.dequantize_per_token(q, s, z, *int8, torch.float32)), x, q, *rows)
    groups = torch.rand(6, 2) + 0.1, torch.randint(-2, 2, (6, 2)).float()
    exact(lambda x, s, z: ops.dequantize_per_channel_group(ops.quantize_per_channel_group(x, s, z, -8, 7, torch.int8, 4), s, z, -8, 7, torch.int8, 4, torch.float32),
          torch.randn(6, 8), *groups)
    exact(lambda x: (*ops.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8), *ops.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8),
                     *ops.choose_qparams_per_token_asymmetric(x, torch.int8)), x)


@case
def convolutions_of_3x3_in_all_algorithms():
    """Layers that the compiler gives tiles of 2x2, 3x3 and 4x4 outputs, one weight at two scales, and all of it direct."""

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.a, self.b = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.Conv2d(channels, channels, 3, padding=(0, 2))
            self.norm = nn.BatchNorm2d(channels)
            self.norm.running_mean.uniform_(-0.1, 0.1), self.norm.running_var.uniform_(0.5, 1.5)

        def forward(self, x):
            y = F.relu(self.norm(self.a(x)) + x)
            return self.b(y), self.a(F.avg_pool2d(y, 2))

    for channels, size in ((16, 60), (64, 57), (128, 30), (256, 15)):
        same(Block(channels), (torch.rand(1, channels, size, size + 1),), targets=("cpu",))
    module, x = Block(64).eval(), torch.rand(2, 64, 40, 40)
    with torch.no_grad(), archive(module, (x,), dynamic=({0: torch.export.Dim("n", max=8)},)) as path:
        reports = [fidibus.compile(path, path.with_suffix(".pte"), winograd=winograd) for winograd in (False, True)]
        if not reports[0]["winograd_bytes"] == 0 < reports[1]["winograd_bytes"] == reports[1]["constant_bytes"] - reports[0]["constant_bytes"]:
            raise Wrong(f"bytes of weights: {reports}")
        for winograd in (False, True):
            compare(load(path, winograd=winograd).execute([x]), pytree.tree_leaves(module(x)), 1e-5, 1e-5)


@case
def attention_in_windows():
    """NU10: right on noise and wrong on pictures: a smooth ramp finds it."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch, self.norm, self.qkv = nn.Conv2d(3, 32, 4, 4), nn.LayerNorm(32), nn.Linear(32, 96)

        def forward(self, x):
            x = self.patch(x).permute(0, 2, 3, 1)
            n, h, w, c = x.shape
            windows = x.view(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
            q, k, v = self.qkv(self.norm(windows)).view(-1, 16, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, 4, 4, c)
            return x + y.view(n, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)

    ramp = torch.linspace(0, 1, 64)
    picture = torch.stack([ramp[:, None] + ramp, ramp[:, None] * ramp, ramp.flip(0)[:, None] - ramp]).unsqueeze(0)
    same(Block(), (picture,), (last(picture) * 3,), rtol=1e-4)


@case
def conformer():
    """NU13: a speech encoder lost accuracy when it was lowered."""

    class Block(nn.Module):
        def __init__(self, d=16):
            super().__init__()
            self.norm, self.point, self.depth = nn.LayerNorm(d), nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 9, padding=4, groups=d)
            self.batch, self.qkv = nn.BatchNorm1d(d), nn.Linear(d, 3 * d)
            self.bias = nn.Parameter(torch.randn(2, 125))
            self.batch.running_var.uniform_(0.5, 2)

        def forward(self, x):
            t = x.shape[1]
            y = F.glu(self.point(self.norm(x).transpose(1, 2)), 1)
            x = x + F.silu(self.batch(self.depth(y))).transpose(1, 2)
            q, k, v = self.qkv(x).view(1, t, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
            distance = torch.arange(t)[:, None] - torch.arange(t) + 62
            scores = q @ k.transpose(-1, -2) / 8**0.5 + self.bias[:, distance]
            return x + (scores.softmax(-1) @ v).transpose(1, 2).reshape(1, t, 16)

    same(Block(), (torch.rand(1, 63, 16),), rtol=1e-4)


@case
def sixteen_bit_floats():
    """NU14: half and bfloat16 worked in some operators only."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(64, 64), nn.LayerNorm(64)

        def forward(self, x):
            return F.gelu(self.norm(self.linear(x))).softmax(-1), self.linear(x).amax(-1), x.cumsum(1), x.topk(3, 1)[0]

    for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 1.6e-2)):
        same(Block().to(dtype), (torch.randn(1, 8, 64).to(dtype),), rtol=tolerance, atol=tolerance)
        same(nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU()).to(dtype), (torch.randn(1, 3, 8, 8).to(dtype),), rtol=tolerance, atol=2 * tolerance)


@case
def order_of_nan_and_infinity():
    """NU15, RU05: topk forgot that NaN ranks highest; it had no temporary memory; k of 0 and of everything."""
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([3.0, nan, inf, -inf, inf, nan, -1.0])
    same(lambda x: (x.sort()[0], x.sort(descending=True)[0], x.topk(1)[0], x.topk(7)[0], x.topk(4, largest=False)[0], x.topk(0)[1]), (x,))
    same(lambda x: (x.argmax(), x.argmin(), *x.max(0), *x.min(0), x.amax(), x.amin()), (x,))
    same(lambda x: (x.argmax(), *x.max(0), x.argmin(), x.clamp(-2, 2), x.maximum(x.flip(0)), x.relu(), x.sign()), (torch.tensor([2.0, inf, 1.0, inf, -inf]),))
    same(lambda x: (*x.topk(3), x.topk(256)[0], x.topk(0)[0]), (torch.randn(2, 256),))


@case
def one_layout_for_both_operands():
    """NU16: a constant of one number a channel stayed behind when its partner changed its layout."""

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.scale, self.token = nn.Conv2d(3, 4, 3), nn.Parameter(torch.randn(1, 4, 1, 1)), nn.Parameter(torch.randn(1, 1, 4))

        def forward(self, x):
            y = self.conv(x) * self.scale
            rows = y.flatten(2).transpose(1, 2)
            return y, torch.cat([self.token, rows], 1), torch.cat([y, y * 2], 1)

    same(Scale(), (torch.rand(1, 3, 6, 5),))
    same(Scale(), (last(torch.rand(1, 3, 6, 5)),))


# ---- Running -----------------------------------------------------------------------------------------------------------------------


@case
def wrong_inputs_are_named():
    """RU03, RU04: another batch, too many inputs and another dtype gave no clear message or broke memory."""
    with archive(nn.Linear(8, 3), (torch.rand(1, 8),)) as path:
        method = load(path)
        refused(lambda: method.execute([torch.rand(2, 8)]), "input 0", "size 2 in dimension 0", "takes 1")
        refused(lambda: method.execute([torch.rand(8)]), "input 0 has rank 1", "rank 2")
        refused(lambda: method.execute([torch.rand(1, 8).double()]), "input 0 is float64", "float32")
        refused(lambda: method.execute([torch.rand(1, 8), torch.rand(1)]), "takes 1 input, 2 given")
        refused(lambda: method.execute([]), "takes 1 input, 0 given")
    with archive(Call(lambda x, y: x + y), (torch.rand(3), torch.rand(3))) as path:
        method = load(path)
        refused(lambda: method.execute([torch.rand(3)] * 3), "takes 2 inputs, 3 given")


@case
def every_dimension_has_its_own_bound():
    """RU03: dynamic dimensions, each checked, with input, dimension, given and allowed in the message."""
    batch, length = Dim("batch", min=3, max=6), Dim("length", min=4, max=20)
    shapes = (({0: batch, 1: length}, {0: length}),)
    module = Call(lambda x, y: (x * 2).sum(0) + y)
    with archive(module, (torch.rand(4, 8), torch.rand(8)), shapes) as path:
        for target in ("cpu", "portable"):
            method = load(path, target)
            compare(method.execute([torch.ones(6, 20), torch.zeros(20)]), [torch.full((20,), 12.0)], 0, 0)
            compare(method.execute([torch.ones(3, 4), torch.zeros(4)]), [torch.full((4,), 6.0)], 0, 0)
            refused(lambda: method.execute([torch.rand(7, 8), torch.rand(8)]), "input 0", "size 7 in dimension 0", "6")
            refused(lambda: method.execute([torch.rand(6, 21), torch.rand(21)]), "input 0", "size 21 in dimension 1", "20")
    with archive(module, (torch.rand(4, 8), torch.rand(8)), shapes) as path:
        method = load(path)
        refused(lambda: method.execute([torch.rand(2, 8), torch.rand(8)]), "input 0 has size 2 in dimension 0, the method takes 3 to 6")
        refused(lambda: method.execute([torch.rand(4, 3), torch.rand(3)]), "input 0 has size 3 in dimension 1, the method takes 4 to 20")
        refused(lambda: method.execute([torch.rand(4, 8), torch.rand(9)]), "input 1 has size 9 in dimension 0; with size 8 in dimension 1 of input 0 it must be 8")
    twice = ({0: 2 * Dim("half", min=1, max=9)}, {1: Dim("free", min=5)})
    with archive(Call(lambda x, y: (x * 2, y + 1)), (torch.rand(8, 3), torch.rand(2, 6)), (twice,)) as path:
        method = load(path)
        refused(lambda: method.execute([torch.rand(7, 3), torch.rand(2, 6)]), "input 0 has size 7 in dimension 0, the method takes multiples of 2")
        refused(lambda: method.execute([torch.rand(6, 2), torch.rand(2, 6)]), "input 0 has size 2 in dimension 1, the method takes 3")
        refused(lambda: method.execute([torch.rand(6, 3), torch.rand(2, 4)]), "input 1 has size 4 in dimension 1, the method takes at least 5")
        refused(lambda: method.execute([torch.rand(6, 3), torch.rand(1, 9)]), "input 1 has size 1 in dimension 0, the method takes 2")
        compare(method.execute([torch.ones(18, 3), torch.ones(2, 1000)]), [torch.full((18, 3), 2.0), torch.full((2, 1000), 2.0)], 0, 0)


@case
def derived_dimensions():
    """Sizes that follow from others: 2*d, d+1, d//2; several symbols in one size."""
    half = Dim("half", min=1, max=16)
    same(lambda x, y: x + y.repeat_interleave(2), *((torch.rand(2 * d), torch.rand(d)) for d in (4, 1, 16, 3)), dynamic=({0: 2 * half}, {0: half}))
    same(lambda x, y: x[1:] * y, *((torch.rand(d + 1), torch.rand(d)) for d in (4, 1, 16, 2)), dynamic=({0: half + 1}, {0: half}))
    d, e = Dim("d", min=4, max=12), Dim("e", min=1, max=9)
    same(lambda x, y: (torch.cat([x, y]), x[::2], x[1:-1], x[:, None] * y, x.new_zeros(x.shape[0] * y.shape[0] + 1)),
         *((torch.rand(a), torch.rand(b)) for a, b in ((5, 3), (4, 1), (12, 9), (7, 2), (12, 1))), dynamic=({0: d}, {0: e}))
    same(lambda x: (x.view(-1, 2), x.reshape(2, -1).sum(0), x.unfold(0, 2, 2)), *((torch.rand(2 * k),) for k in (4, 1, 16, 2)), dynamic=({0: 2 * half},))


@case
def live_sizes_in_any_order():
    """WE05: a program that was made for the largest shape gave the tail's garbage at smaller ones."""
    s = Dim("s", min=1, max=16)
    calls = [(torch.rand(2, n), torch.rand(2, n)) for n in (16, 3, 1, 16, 2, 9)]
    same(lambda x, y: (torch.cat([x, y * 2], 1), x.softmax(1), x[:, :1], x + y[:1], (x @ y.t()), x.cumsum(1), x.flip(1), x.mean(1)), *calls, dynamic=({1: s}, {1: s}))
    net = nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv1d(4, 2, 1))
    same(net, *((torch.rand(1, 2, n),) for n in (9, 16, 1, 4)), dynamic=({2: s},))
    b = Dim("b", min=1, max=8)
    same(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
         *((torch.rand(n, 3, 8, 8),) for n in (4, 8, 1, 3)), dynamic=({0: b},))


@case
def no_size_at_all():
    """Zero length, at first and between others."""
    s = Dim("s", min=0, max=8)
    calls = [(torch.rand(n, 3),) for n in (4, 0, 8, 0, 1)]
    same(lambda x: (x.sum(0), x * 2, torch.cat([x, x]), x.mean(1), x.softmax(1), x.t(), x.reshape(-1)), *calls, dynamic=({0: s},))
    same(nn.Linear(3, 2), *calls, dynamic=({0: s},))
    same(lambda x: (x.sum(), x.prod(), x + 1, x.reshape(0, 5), x.view(2, 0)), (torch.rand(0),), targets=("cpu",))


@case
def dimensions_without_a_bound():
    """Where memory may grow, sizes need no upper bound."""
    calls = [(torch.rand(n, 4),) for n in (3, 1, 5000, 2, 0, 700)]
    n = Dim("n", min=0)
    same(lambda x: (x * 2 + 1, x.softmax(1), torch.cat([x, x + 1]), x.t().contiguous(), x.sum(0), x[:, 1:].reshape(-1), x.sort(0)[0]), *calls, dynamic=({0: n},), targets=("cpu",))
    same(nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)), *calls, dynamic=({0: n},), targets=("cpu",), rtol=1e-4)
    h = Dim("h", min=4)
    same(nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 3, 1)),
         *((torch.rand(1, 2, k, 9),) for k in (8, 4, 70, 5)), dynamic=({2: h},), targets=("cpu",), rtol=1e-4)
    same(lambda x: x[x > 0.5], *calls[:3], dynamic=({0: n},), targets=("cpu",))
    same(lambda x: (x[1:] - x[:-1], x[::3], x.repeat(2, 1), x.unfold(0, 2, 2)), *((torch.rand(k, 4),) for k in (8, 4, 900, 5)), dynamic=({0: h},), targets=("cpu",))
    with archive(Call(lambda x: x * 2), (torch.rand(3),), (({0: n},),)) as path:
        refused(lambda: load(path, "portable"), "dimension 0 of input 0 of forward has no upper bound", "Dim")


@case
def results_written_into_arguments():
    """out= calls, seen through views of what they write; a tensor made smaller in place."""
    def written(x, y):
        z = torch.empty_like(x)
        seen = z.view(-1)
        torch.atan2(x, y, out=z)
        half = z.clone()
        torch.add(half[0], y[1], alpha=2, out=half[1])
        return z + 1, seen, half, (x + y).resize_(2, 2) * 2

    same(written, (torch.randn(2, 3), torch.randn(2, 3)))


@case
def spectra():
    """RU09: a Fourier transform exported and could not be loaded."""
    same(lambda x: torch.fft.rfft(x).abs() ** 2, (torch.rand(10, 512),), rtol=1e-4, atol=1e-3)
    same(lambda x: torch.fft.irfft(torch.fft.rfft(x), n=30), (torch.rand(2, 30),))
    with archive(Call(lambda x: torch.igamma(torch.nextafter(x, x + 1), x)), (torch.rand(3),)) as path:
        refused(lambda: load(path, "portable"), "2 things", "igamma", "nextafter")


@case
def trees_of_inputs_and_outputs():
    """Nested inputs and results, None, numbers and keywords: a method takes and gives what the model does, from upstream's programs too."""
    from executorch.exir import to_edge

    class Nested(nn.Module):
        def forward(self, x, table, k=None, *, scale=2.0):
            out = {"sum": x + table["a"][0], "list": [x * scale, (table["a"][1], None)], "n": 3}
            return {**out, "k": k + 1} if k is not None else out

    class Ordered(nn.Module):
        def forward(self, pair, *rest, **named):
            return collections.OrderedDict([("z", pair[0] * 2), ("a", named["y"] + 1)]), [r * 2 for r in rest], (), {}

    x, y = torch.rand(3), torch.rand(2)
    models = [(Nested(), (x, {"a": [x + 1, y]}), {"k": y}), (Nested(), (x, {"a": [x, y]}), {}), (Ordered(), ((x, y), y, x), {"y": x})]
    for module, args, kwargs in models:
        expected = module(*args, **kwargs)
        with archive(module, args, kwargs=kwargs) as path:
            path.with_suffix(".upstream.pte").write_bytes(to_edge(torch.export.load(path)).to_executorch().buffer)
            methods = {target: load(path, target) for target in ("cpu", "portable")}
            methods["upstream"] = fidibus.Runtime.get().load_program(path.with_suffix(".upstream.pte")).load_method("forward")
            for name, method in methods.items():
                found = method(*args, **kwargs)
                if type(found) is not type(expected) or pytree.tree_structure(found) != pytree.tree_structure(expected):
                    raise Wrong(f"{name}: {pytree.tree_structure(found)}, expected {pytree.tree_structure(expected)}")
                compare(found, expected, 1e-6, 1e-6)


@case
def complex_numbers_as_arguments():
    """Numbers with an imaginary part: `x * 1j` has no tensor to promote from, and every operator takes them."""
    x, z = torch.rand(4), torch.rand(4, dtype=torch.complex64)
    same(lambda x: (x * 1j, torch.exp(-1j * x), x.double() + (0.1 + 1j), x.int() * 2j, (1 - 2j) / (x + 1)), (x,), targets=("cpu",), rtol=1e-5)
    same(lambda z: (z * (2 + 3j), 1j - z, z - 1j, z / (1 - 2j), z ** (1 + 1j), z == 1j, z != 1j), (z,), (torch.full((4,), 1j),), targets=("cpu",), rtol=1e-4)
    same(lambda z: (torch.where(z.real > 0.5, z, 2j), torch.where(z.real > 0.5, 1j, 0.5), z.masked_fill(z.imag > 0.5, -1j), torch.fill(z, 1j)), (z,), targets=("cpu",))
    same(lambda z: (torch.full((2, 3), 1 + 2j), z.new_full((2,), 1j), z.clone().mul_(1j), torch.complex(z.real, z.imag).add_(1j)), (z,), targets=("cpu",))
    with archive(Call(lambda z: torch.add(z, z, alpha=1j)), (z,)) as path:
        refused(lambda: load(path), "aten::add.Tensor", "a complex number as this argument")


@case
def control_flow_in_control_flow():
    """Loops in loops and branches, mutated carries that swap, zero iterations, results that branches hand through."""
    zero = torch.zeros((), dtype=torch.int64)
    loop = torch._higher_order_ops.while_loop

    class Loops(nn.Module):
        def forward(self, n, m, x, y):
            def outer(i, x, y):
                x = loop(lambda j, a: j < m, lambda j, a: (j + 1, a * 0.5 + y.sum() * 0.01), (zero.clone(), x))[1]
                x = torch.cond(x.sum() > 1, lambda x: (x * 0.5).clone(), lambda x: x + 1, (x,))
                return i + 1, y.clone(), x + y

            return loop(lambda i, x, y: i < n, outer, (zero.clone(), x, y))

    calls = [(torch.tensor(a), torch.tensor(b), torch.rand(3, 2), torch.rand(3, 2)) for a, b in ((2, 3), (0, 3), (3, 0), (0, 0), (5, 1))]
    same(Loops(), *calls)

    class Branches(nn.Module):
        def forward(self, p, q, x, y):
            def yes(q, x, y):
                return torch.cond(q, lambda x, y: (x.clone(), y.clone()), lambda x, y: (y.clone(), x.clone()), (x, y))

            def no(q, x, y):
                z = x.sin()
                return z, z.clone()

            u, v = torch.cond(p, yes, no, (q, x, y))
            return u * 2, torch.cat([v, x, u]), u + v

    same(Branches(), *((torch.tensor(p), torch.tensor(q), torch.rand(4, 16), torch.rand(4, 16)) for p in (True, False) for q in (True, False)))


@case
def many_branches_of_memory():
    """RU11: an output was overwritten where memory was used again (every case here compares with a program that never does)."""

    def branches(x):
        a, b, c = x.relu(), x.sigmoid(), x.tanh()
        d = torch.cat([a[:, :2], b[:, 2:]], 1) @ c
        e = (a + d).transpose(0, 1).contiguous()
        return d.mean(), e.view(-1)[3:9], a.view(2, -1), torch.stack([b, c, e]).amax(0), x[1].clone().add_(1)

    same(branches, (torch.rand(6, 6),), (-torch.rand(6, 6),))


@case
def threads_share_a_program():
    """RU13: methods of one program on several threads, and several threads within a method."""
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.Flatten(), nn.LazyLinear(5))
    x = torch.rand(1, 3, 32, 32)
    net(x)
    with torch.no_grad(), archive(net.eval(), (x,)) as path:
        load(path)
        data = path.with_suffix(".cpu.pte").read_bytes()
    runtime = fidibus.Runtime.get()
    expected = runtime.load_program(data).load_method("forward").execute([x])[0]
    for threads in range(1, 5):
        if not torch.equal(runtime.load_program(data, threads=threads).load_method("forward").execute([x])[0], expected):
            raise Wrong(f"{threads} threads give other bits than one")

    def work(_):
        method = runtime.load_program(data).load_method("forward")
        return all(torch.equal(method.execute([x])[0], expected) for _ in range(50))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        if not all(pool.map(work, range(8))):
            raise Wrong("threads disturb each other")


@case
def foreign_files():
    """RU15, RU16: files of other kinds and versions are named."""
    with archive(nn.Linear(2, 2), (torch.rand(1, 2),)) as path:
        load(path)
        data = bytearray(path.with_suffix(".cpu.pte").read_bytes())
        data[4:8] = b"ET99"
        refused(lambda: fidibus.Runtime.get().load_program(bytes(data)), '"ET12"', '"ET99"')
        script = path.with_name("script.pt2")
        torch.jit.trace(nn.Linear(2, 2), (torch.rand(1, 2),)).save(str(script))
        refused(lambda: load(script), "TorchScript", "torch.export.export")


def main(names):
    failed = 0
    for name in names or CASES:
        torch.manual_seed(0)
        try:
            CASES[name]()
        except Exception as error:
            failed += 1
            text = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
            print(f"FAILED  {name}: {text[:1500]}", flush=True)
        else:
            print(f"ok      {name}", flush=True)
    print(f"{len(names or CASES) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
