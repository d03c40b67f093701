"""Samples of PyTorch's operator database as exported programs, for opinfo.py.

A sample is one call that the database lists for an operator and a dtype. Its tensors become the program's inputs, all other arguments
constants. Of the calls of a pair, an ordinary one comes first, then those that add most of what the others lack: zero sizes,
broadcasting, NaN, other memory layouts, other keyword values.
"""

import dataclasses
import hashlib
import itertools
import os
import random
import re
import warnings

import torch
from torch.utils import _pytree as pytree

DTYPES = ["float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
MOST_CALLS = 150  # of one operator and dtype that are looked at
MOST_ELEMENTS = 65536  # larger calls are passed over

LEFT_OUT = {
    "random": r"(uniform|normal|bernoulli|cauchy|exponential|geometric|log_normal|multinomial|rand\w*)(\..*)?|.*dropout.*|"
    r"nn\.functional\.(rrelu|fractional_max_pool.*)|(svd|pca)_lowrank|normal\..*",
    "undefined values": r"(new_)?empty(_\w+)?|resize_.*",
    "not a dense operator of the CPU": r".*sparse.*|torch\._scaled_mm.*|jiterator.*|torch\.ops\.aten\._(flash|efficient).*|bmm\.triton.*",
    "only for training": r".*_backward(_data)?|.*\.grad(_oriented)?|linalg\.norm\.subgradients.*",
    "complex dtypes only": r"c(double|float)|chalf|.*\.complex",
}
LAPACK = re.compile(
    r"cholesky.*|geqrf|lu(_.*)?|ormqr|qr|svd|pinverse|triangular_solve|logdet|norm\.nuc|matrix_exp|"
    r"linalg\.(?!cross|diagonal|vecdot|matrix_power|multi_dot|vander|vector_norm).*"
)
COMPLEX = re.compile(r"fft\..*|i?stft|complex|polar|view_as_(real|complex)|real|imag|conj.*|resolve_conj")


def full_name(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def group_of(name):
    return "lapack" if LAPACK.fullmatch(name) else "complex" if COMPLEX.fullmatch(name) else "general"


def left_out(name):
    return next((why for why, pattern in LEFT_OUT.items() if re.fullmatch(pattern, name)), None)


def sow(*words):
    """Seeds every generator that samples draw from."""
    import numpy

    number = int.from_bytes(hashlib.sha256("/".join(map(str, words)).encode()).digest()[:4], "big")
    torch.manual_seed(number)
    numpy.random.seed(number)
    random.seed(number)


@dataclasses.dataclass
class Sample:
    """One exported call. outputs and refs hold tensors or numbers; a ref is None where there is none."""

    id: str
    op: str
    dtype: str
    group: str
    call: str
    archive: str
    inputs: list
    outputs: list
    refs: list
    tolerances: list


# ---- A call ------------------------------------------------------------------------------------------------------------------


def memory_order(tensor):
    """Dimensions from the outermost to the innermost in memory."""
    return sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), -tensor.shape[d]))


def as_input(tensor):
    """(trait, dense input, function that makes the tensor from it). Layouts that no input of a program has become operators in it."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    same = lambda t: t
    if tensor.is_contiguous():
        return None, tensor.contiguous().clone(), same
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels_last", tensor.clone(), same
    if 0 in tensor.stride():
        shape, base = tensor.shape, tensor[tuple(slice(0, 1) if s == 0 else slice(None) for s in tensor.stride())]
        return "expanded", base.contiguous().clone(), lambda t: t.expand(shape)
    order = memory_order(tensor)
    if tensor.permute(order).is_contiguous():
        back = [order.index(d) for d in range(tensor.dim())]
        return "permuted", tensor.permute(order).clone(), lambda t: t.permute(back)
    return "strided", tensor.contiguous().clone(), same


class Call(torch.nn.Module):
    """One call of an operator as a module of its tensors."""

    def __init__(self, function, sample):
        super().__init__()
        self.function = function
        self.leaves, self.spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        made = [as_input(t) for t in self.tensors]
        self.inputs, self.views = [m[1] for m in made], [m[2] for m in made]
        self.traits = set(self.find_traits()) | {m[0] for m in made if m[0]}

    def arguments(self, tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        return pytree.tree_unflatten(leaves, self.spec)

    def forward(self, *tensors):
        first, rest, named = self.arguments([view(t) for view, t in zip(self.views, tensors)])
        result = pytree.tree_leaves(self.function(first, *rest, **named))
        kinds = (torch.Tensor, bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
        return [value for value in result if isinstance(value, kinds)]

    def find_traits(self):
        tensors = self.tensors
        if len({t.shape for t in tensors}) > 1:
            yield "shapes differ"
        if len({t.dtype for t in tensors}) > 1:
            yield "dtypes differ"
        for i, tensor in enumerate(tensors):
            yield f"rank of {i}: {tensor.dim()}"
            if tensor.numel() == 0:
                yield "zero size"
            elif tensor.numel() == 1 and tensor.dim():
                yield "one element"
            if tensor.is_floating_point() and tensor.numel():
                yield from (name for name, found in value_traits(tensor) if found)
        _, rest, named = self.arguments(["tensor"] * len(tensors))
        for key, value in [*enumerate(rest), *named.items()]:
            yield f"argument {key}: {re.sub(r' at 0x[0-9a-f]+', '', repr(value))[:60]}"

    def text(self, name):
        def shown(value):
            if isinstance(value, torch.Tensor):
                return f"{str(value.dtype)[6:]}{list(value.shape)}".replace(" ", "")
            if isinstance(value, (list, tuple)):
                return "[" + ", ".join(map(shown, value)) + "]"
            return re.sub(r" at 0x[0-9a-f]+", "", repr(value))

        first, rest, named = self.arguments(self.tensors)
        words = [shown(first), *map(shown, rest), *(f"{k}={shown(v)}" for k, v in named.items())]
        return f"{name}({', '.join(words)})"[:300]


def value_traits(tensor):
    finite = tensor[tensor.isfinite()].abs()
    return [
        ("nan", tensor.isnan().any()),
        ("infinity", tensor.isinf().any()),
        ("large", bool(finite.numel()) and finite.max() > 1000),
    ]


ODD = {"zero size", "nan", "infinity", "large", "strided", "permuted", "expanded", "one element", "dtypes differ"}


def choose(calls, count):
    """Numbers of up to `count` calls."""
    chosen, known, left = [], set(), list(range(len(calls)))
    while left and len(chosen) < count:
        plain = [] if chosen else [i for i in left if not calls[i].traits & ODD]
        best = max(plain or left, key=lambda i: len(calls[i].traits - known))
        left.remove(best)
        chosen.append(best)
        known |= calls[best].traits
    return chosen


def calls_of(op, dtype, seed):
    sow(seed, full_name(op), dtype)
    listed = op.sample_inputs if op.reference_inputs_func is None else op.reference_inputs
    found = []
    with torch.no_grad():
        for sample in itertools.islice(listed("cpu", dtype, set_seed=False), MOST_CALLS):
            if sample.kwargs.get("dropout_p"):
                continue
            leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
            tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
            if all(t.layout == torch.strided for t in tensors) and sum(t.numel() for t in tensors) <= MOST_ELEMENTS:
                found.append(Call(op.op, sample).eval())
    return found


# ---- What eager says ---------------------------------------------------------------------------------------------------------


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, 0, 0, equal_nan=True)
    return a == b or (a != a and b != b)


def all_same(a, b):
    return len(a) == len(b) and all(map(same, a, b))


def fresh(call):
    return [t.clone() for t in call.inputs]


WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64, torch.complex64: torch.complex128}


def exact(call, outputs):
    """For each output the value computed in double precision, rounded once; None where there is none."""
    nothing = [None] * len(outputs)
    if not any(t.dtype in WIDER for t in call.inputs):
        return nothing
    try:
        values = call(*(t.to(WIDER.get(t.dtype, t.dtype)) for t in fresh(call)))
    except Exception:  # the operator does not take double precision
        return nothing
    if len(values) != len(outputs):
        return nothing
    fits = lambda v, o: isinstance(v, torch.Tensor) and isinstance(o, torch.Tensor) and v.shape == o.shape and WIDER.get(o.dtype) == v.dtype
    return [v.to(o.dtype) if fits(v, o) else None for v, o in zip(values, outputs)]


def tolerance(op, dtype, output):
    """(relative, absolute): torch.testing's for the dtypes, widened by what the database says of this operator."""
    from torch.testing._comparison import default_tolerances
    from torch.testing._internal.opinfo.core import DecorateInfo

    if not (output.is_floating_point() or output.is_complex()):
        return 0.0, 0.0
    limits = [default_tolerances(output.dtype)]
    if dtype.is_floating_point:
        limits.append(default_tolerances(dtype))
    suites = {None, "TestCommon", "TestUnaryUfuncs", "TestBinaryUfuncs", "TestReductions", "TestLinalg"}
    for info in op.decorators:
        if isinstance(info, DecorateInfo) and info.cls_name in suites and info.device_type in (None, "cpu"):
            for decorator in info.decorators:
                own = getattr(decorator, "d", {}).get(dtype)
                if hasattr(own, "rtol"):
                    limits.append((own.rtol, own.atol))
    return max(l[0] for l in limits), max(l[1] for l in limits)


def has_complex(program):
    values = pytree.tree_leaves([n.meta.get("val") for n in program.graph.nodes])
    return any(isinstance(v, torch.Tensor) and v.is_complex() for v in values)


def draws_numbers(program):
    targets = [n.target for n in program.graph.nodes if n.op == "call_function"]
    return any(torch.Tag.nondeterministic_seeded in t.tags for t in targets if isinstance(t, torch._ops.OpOverload))


@dataclasses.dataclass
class Exporter:
    """Makes a Sample of a call, or a text that says why there is none."""

    op: object
    dtype: torch.dtype
    seed: str

    def make(self, call, label, folder):
        sow(self.seed, label["id"])
        try:
            with torch.no_grad():
                return self.export(call, label, folder)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:200]

    def export(self, call, label, folder):
        used = fresh(call)
        outputs = [v.clone() if isinstance(v, torch.Tensor) else v for v in call(*used)]
        if not outputs or not any(isinstance(v, torch.Tensor) for v in [*used, *outputs]):
            return "no tensor goes in or comes out"
        if not all_same(outputs, call(*fresh(call))):
            return "random"
        refs = exact(call, outputs)
        program = torch.export.export(call, tuple(fresh(call)), strict=False)
        if draws_numbers(program) and not all_same(list(program.module()(*fresh(call))), outputs):
            return "random"
        archive = os.path.join(folder, "sample.pt2")
        torch.export.save(program, archive)
        group = "complex" if label["group"] == "general" and has_complex(program) else label["group"]
        limits = [tolerance(self.op, self.dtype, v) if isinstance(v, torch.Tensor) else None for v in outputs]
        return Sample(label["id"], self.op.name, label["dtype"], group, label["call"], archive, call.inputs, outputs, refs, limits)


class Job:
    """The samples of one operator and dtype."""

    exports = True

    def __init__(self, op, dtype, options):
        self.op, self.dtype, self.options = op, dtype, options
        self.name = full_name(op)

    def samples(self, first):
        warnings.simplefilter("ignore")
        short = str(self.dtype)[6:]
        base = {"dtype": short, "group": group_of(self.name)}
        try:
            calls = calls_of(self.op, self.dtype, self.options.seed)
            chosen = choose(calls, self.options.max_samples)
        except Exception as error:
            yield 0, {**base, "id": f"{self.name}__{short}", "call": ""}, lambda folder, error=error: f"the database fails: {error}"[:200]
            return
        exporter = Exporter(self.op, self.dtype, self.options.seed)
        for k, number in enumerate(chosen):
            if k >= first:
                call = calls[number]
                label = {**base, "id": f"{self.op.name}__{self.op.variant_test_name or 'base'}__{short}__{k}", "call": call.text(self.name)}
                yield k, label, lambda folder, call=call, label=label: exporter.make(call, label, folder)


def jobs(options):
    """All that the options ask for, in the database's order."""
    from torch.testing._internal.common_methods_invocations import op_db

    found = []
    for op in op_db:
        if re.fullmatch(options.ops, full_name(op)) and not left_out(full_name(op)):
            supported = op.supported_dtypes("cpu")
            names = [n for n in options.dtypes or DTYPES if getattr(torch, n) in supported]
            found += [Job(op, getattr(torch, n), options) for n in names]
    return found
