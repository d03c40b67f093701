"""Writes tests/ops/cases/*.txt: calls of operators with what PyTorch answers. Needs torch; the test that reads them does not.

    python tests/ops/make_cases.py [FAMILY...]      all families, or some: `python tests/ops/make_cases.py pointwise`

A family is a file `cases_FAMILY.py` here with a function `cases(c)`; it adds calls by

    c.call("add.Tensor", x, y, alpha=2)      expected results come from torch.ops.aten.add.Tensor
    c.error("add.Tensor", x, y)              PyTorch refuses the call, and so must our shape function or kernel
    c.given("executorch_prim::add.Scalar", [2, 3], [5])      for what PyTorch does not have
    c.tensor((2, 3), torch.float32, low, high)      random data, the same in every run

Line format (blank lines and lines that start with # are skipped), all arguments of the schema in order, then the results:

    aten::add.Tensor f32[2,3]{1 2 3 4 5 6} i64[]{2} 1 -> f32[2,3]{3 4 5 6 7 8}

  tensor     DTYPE[SIZES]{VALUES}, values in logical row-major order, bool as 0 and 1, complex as RE:IM;
             DTYPE[SIZES]@ORDER{VALUES} with a dim order, as @0231 for channels last (hexadecimal digits).
             A result with a dim order must be laid out like that; one without may have any layout.
  number     5 (int), 0.5 1e-3 inf nan (double), True False
  list       [1,2] [0.5,1.0] [True,False]
  tensors    (TENSOR TENSOR ...), with None for an absent one
  the rest   'text', None; a dtype is its number (torch's ScalarType), so is a memory format
  results    as arguments; `error` if the call must fail; at the end may stand tol=RELATIVE,ABSOLUTE
"""

import importlib.util
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).parent

DTYPES = {  # torch dtype: (short name, ScalarType number)
    torch.uint8: ("u8", 0), torch.int8: ("i8", 1), torch.int16: ("i16", 2), torch.int32: ("i32", 3), torch.int64: ("i64", 4),
    torch.float16: ("f16", 5), torch.float32: ("f32", 6), torch.float64: ("f64", 7), torch.complex64: ("c64", 9),
    torch.complex128: ("c128", 10), torch.bool: ("b8", 11), torch.bfloat16: ("bf16", 15), torch.float8_e5m2: ("f8e5m2", 23),
    torch.float8_e4m3fn: ("f8e4m3fn", 24), torch.uint16: ("u16", 27), torch.uint32: ("u32", 28), torch.uint64: ("u64", 29),
}
MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3}


def number_text(value, digits=17):
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, complex):
        return f"{number_text(value.real, digits)}:{number_text(value.imag, digits)}"
    if isinstance(value, float):
        text = f"{value:.{digits}g}"
        return text if any(c in text for c in ".einf") else text + ".0"
    return str(int(value))


def value_text(tensor):
    digits = 17 if tensor.dtype in (torch.float64, torch.complex128) else 9
    if tensor.dtype == torch.bool:
        return " ".join(str(int(v)) for v in tensor.flatten().tolist())
    wide = tensor.to(torch.float32) if tensor.dtype in (torch.float8_e5m2, torch.float8_e4m3fn) else tensor
    texts = (number_text(v, digits) for v in wide.flatten().tolist())
    return " ".join(t[:-2] if t.endswith(".0") else t for t in texts)


def tensor_text(tensor, layout=None):
    """layout None: written if it is not row-major."""
    sizes = ",".join(str(s) for s in tensor.shape)
    order = ""
    if layout or (layout is None and not tensor.is_contiguous()):
        order = "@" + "".join(f"{d:x}" for d in tensor.dim_order())
    return f"{DTYPES[tensor.dtype][0]}[{sizes}]{order}{{{value_text(tensor)}}}"


def argument_text(value, type_text):
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return tensor_text(dense(value))
    if isinstance(value, torch.dtype):
        return str(DTYPES[value][1])
    if isinstance(value, torch.memory_format):
        return str(MEMORY_FORMATS[value])
    if isinstance(value, (torch.layout, torch.device)):
        return "None"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, (list, tuple)):
        if "Tensor" in type_text:
            return "(" + " ".join(argument_text(v, "Tensor") for v in value) + ")"
        if "float" in type_text:
            value = [float(v) for v in value]
        return "[" + ",".join(number_text(v) for v in value) + "]"
    if type_text in ("float", "Optional[float]"):
        value = float(value)
    return number_text(value)


def dense(tensor):
    """A tensor has a dim order only if it has no gaps and no overlaps."""
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    expected, seen = 1, True
    for d in reversed(order):
        if tensor.shape[d] > 1:
            seen = seen and tensor.stride(d) == expected
            expected *= tensor.shape[d]
    return tensor if seen or tensor.numel() == 0 else tensor.contiguous()


class Cases:
    def __init__(self, family):
        self.lines = []
        self.generator = torch.Generator().manual_seed(sum(ord(c) for c in family))

    def tensor(self, shape, dtype=torch.float32, low=-3, high=3):
        """Random values in [low, high), of integers too; exact in the dtype."""
        values = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        if dtype == torch.bool:
            return values > (high + low) / 2
        return values.floor().to(dtype) if not (dtype.is_floating_point or dtype.is_complex) else values.to(dtype)

    def comment(self, text):
        self.lines.append("# " + text)

    def _split(self, name):
        namespace, _, rest = name.rpartition("::")
        base, _, overload = rest.partition(".")
        return namespace or "aten", base, overload

    def _prefix(self, name, args, kwargs):
        namespace, base, overload = self._split(name)
        op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
        texts = [f"{namespace}::{base}" + (f".{overload}" if overload else "")]
        for i, a in enumerate(op._schema.arguments):
            value = args[i] if i < len(args) else kwargs.get(a.name, a.default_value if a.has_default_value() else None)
            texts.append(argument_text(value, str(a.type)))
        return op, " ".join(texts)

    def call(self, name, *args, layout=False, tol=None, **kwargs):
        op, prefix = self._prefix(name, args, kwargs)
        results = op(*args, **kwargs)
        returns_list = len(op._schema.returns) == 1 and "List" in str(op._schema.returns[0].type)
        texts = []
        for result in results if isinstance(results, (tuple, list)) else [results]:
            result = result.resolve_conj() if isinstance(result, torch.Tensor) else result
            texts.append(tensor_text(dense(result), layout) if isinstance(result, torch.Tensor) else argument_text(result, ""))
        body = "(" + " ".join(texts) + ")" if returns_list else " ".join(texts)
        self.lines.append(f"{prefix} -> {body}" + (f" tol={tol[0]:g},{tol[1]:g}" if tol else ""))
        return results

    def error(self, name, *args, **kwargs):
        op, prefix = self._prefix(name, args, kwargs)
        try:
            op(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError, TypeError):
            self.lines.append(f"{prefix} -> error")
        else:
            raise SystemExit(f"PyTorch takes {prefix}")

    def given(self, name, args, results, tol=None):
        name = name if "::" in name else "aten::" + name
        results = [v.contiguous() if isinstance(v, torch.Tensor) else v for v in results]
        texts = [" ".join(argument_text(v, "") for v in values) for values in (args, results)]
        self.lines.append(f"{name} {texts[0]} -> {texts[1]}" + (f" tol={tol[0]:g},{tol[1]:g}" if tol else ""))

    def write(self, path):
        path.write_text("# Written by tests/ops/make_cases.py, which describes the format.\n" + "\n".join(self.lines) + "\n")


def main():
    wanted = sys.argv[1:]
    for source in sorted(HERE.glob("cases_*.py")):
        family = source.stem.removeprefix("cases_")
        if wanted and family not in wanted:
            continue
        spec = importlib.util.spec_from_file_location(source.stem, source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        c = Cases(family)
        module.cases(c)
        (HERE / "cases").mkdir(exist_ok=True)
        c.write(HERE / "cases" / f"{family}.txt")
        print(f"{family}: {sum(' -> ' in line for line in c.lines)} calls")


if __name__ == "__main__":
    main()
