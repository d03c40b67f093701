"""Running .pte programs, by upstream's names."""

import enum
import functools
import os
import pathlib
import re
import sys

from . import _native, containers

_TENSOR = 1  # upstream's tag of a tensor value


class Verification(enum.Enum):
    """Taken for upstream's sake: fidibus always verifies the whole program, once, at load."""

    Minimal = 0
    InternalConsistency = 1


class TensorInfo:
    """One tensor input or output; sizes are upper bounds where `dynamic`."""

    def __init__(self, described):
        self._tag, self._dtype, self._sizes, self._bytes, self.dynamic = described

    def sizes(self):
        return self._sizes

    def dtype(self):
        """The name of the dtype: "float32"."""
        return self._dtype

    def nbytes(self):
        return self._bytes

    def __repr__(self):
        return f"TensorInfo(sizes={list(self._sizes)}, dtype={self._dtype}{', dynamic' if self.dynamic else ''})"


class MethodMeta:
    """What a method takes and gives."""

    def __init__(self, name, method):
        self._name, self._inputs, self._outputs = name, method.inputs(), method.outputs()
        self._planned_bytes = method.planned_bytes()

    def name(self):
        return self._name

    def num_inputs(self):
        return len(self._inputs)

    def num_outputs(self):
        return len(self._outputs)

    def input_tensor_meta(self, index):
        return self._tensor(self._inputs, index)

    def output_tensor_meta(self, index):
        return self._tensor(self._outputs, index)

    @staticmethod
    def _tensor(values, index):
        if values[index][0] != _TENSOR:
            raise TypeError(f"value {index} is no tensor")
        return TensorInfo(values[index])

    def memory_planned_bytes(self):
        return self._planned_bytes

    def __repr__(self):
        return f"MethodMeta(name={self._name!r}, inputs={len(self._inputs)}, outputs={len(self._outputs)})"


def _lendable(value):
    """The value in a form whose memory can be lent: torch refuses gradients, numpy read-only arrays."""
    if hasattr(value, "requires_grad"):
        return value.detach().resolve_conj().resolve_neg() if value.requires_grad or value.is_conj() or value.is_neg() else value
    if hasattr(value, "flags") and hasattr(value.flags, "writeable") and not value.flags.writeable:
        return value.copy()
    return value


def _wrap(value, like):
    """A tensor of the caller's own library: torch's if an input was torch's or torch is loaded, else numpy's, else ours."""
    if not isinstance(value, _native.Tensor):
        return value
    if like == "torch":
        return sys.modules["torch"].from_dlpack(value)
    if like == "numpy" and value.dtype != "bfloat16":
        return sys.modules["numpy"].from_dlpack(value)
    return value


def _library(inputs):
    for value in inputs:
        name = type(value).__module__.partition(".")[0]
        if name in ("torch", "numpy"):
            return name
    return next((name for name in ("torch", "numpy") if name in sys.modules), None)


class Method:
    """A loaded method. It keeps its program alive. One thread at a time."""

    def __init__(self, name, method):
        self._name, self._method = name, method
        self._texts = method.trees()
        self._input_tree, self._output_tree = (containers.parse(text) for text in self._texts)

    def forward(self, *args, **kwargs):
        """Runs with the model's own arguments, nested as they were at export, and gives the model's own result."""
        if self._input_tree is None:
            if kwargs:
                raise TypeError("the program does not tell the names of its arguments: give them by place")
            inputs = list(args)
        else:
            inputs = containers.flatten_call(self._input_tree, args, kwargs)
        outputs = self.execute(inputs)
        if self._output_tree is None or self._output_tree.leaf_count != len(outputs):
            return outputs
        return containers.unflatten(self._output_tree, self._texts[1], outputs)

    __call__ = forward

    def execute(self, inputs):
        """Runs with the flat sequence of tensors (torch, numpy, anything with __dlpack__, any strides) and plain values; returns a list."""
        inputs = list(inputs)
        outputs = self._method.execute([_lendable(value) for value in inputs])
        like = _library(inputs)
        return [_wrap(value, like) for value in outputs]

    def reset(self):
        """Puts mutable buffers back to their initial content."""
        self._method.reset()

    def state(self):
        """A dict from names of mutable buffers to copies of what they hold."""
        return {name: _wrap(value, _library([])) for name, value in self._method.state().items()}

    def save_state(self, path):
        """Writes the mutable buffers to a .ptd file."""
        path = pathlib.Path(path)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(self._method.state_bytes())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def load_state(self, path):
        """Sets the mutable buffers to what save_state wrote. If a buffer is missing there or differs, none changes."""
        self._method.load_state(_native.Data(os.fspath(path)))

    @property
    def metadata(self):
        return MethodMeta(self._name, self._method)


class DataFile:
    """A .ptd file: weights by name, mapped once however many programs use it."""

    def __init__(self, source):
        """source: a path or bytes."""
        self._data = _native.Data(source if isinstance(source, bytes) else os.fspath(source))

    def keys(self):
        return self._data.keys()

    def __getitem__(self, key):
        """A copy of the tensor of that name."""
        return _wrap(self._data.get(key), _library([]))


class Program:
    """A program; its methods are loaded once and kept. Those that were compiled to share mutable buffers do."""

    def __init__(self, program, data=()):
        self._program, self._data, self._methods = program, list(data), {}

    @property
    def method_names(self):
        return set(self._program.method_names())

    def load_method(self, name):
        if name not in self._methods:
            self._methods[name] = Method(name, self._program.load_method(name, self._data))
        return self._methods[name]

    def metadata(self, method_name):
        return self.load_method(method_name).metadata

    def etdump(self):
        """What was traced so far, as bytes in upstream's ETDump format. The program was loaded with enable_etdump=True."""
        return self._program.etdump()

    def write_etdump_result_to_file(self, etdump_path, debug_buffer_path=None):
        """Writes the trace for `fidibus profile` and upstream's Inspector. There is no debug buffer: values are not recorded."""
        pathlib.Path(etdump_path).write_bytes(self.etdump())


class _BackendRegistry:
    registered_backend_names = []

    def is_available(self, backend_name):
        return False


class _OperatorRegistry:
    @property
    def operator_names(self):
        return set(_native.operator_names())


class Runtime:
    """The way in, as upstream has it: Runtime.get().load_program(...)."""

    def __init__(self):
        self.backend_registry, self.operator_registry = _BackendRegistry(), _OperatorRegistry()

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def get():
        return Runtime()

    def register_operator(self, schema, function):
        """Makes a Python function the kernel of an operator of your own, for programs that are loaded afterwards.

        schema: "mine::twist(Tensor x, int by=1) -> Tensor", as torch prints it. function: takes the arguments in the schema's order,
        those behind a "*" by name; tensors are torch's if torch is loaded, else numpy's, else fidibus.Tensor. It returns a tensor, or a
        tuple where the schema has several results, or a list where it has Tensor[].
        """
        arguments = schema[schema.index("(") + 1 : schema.rindex("->")]
        _, star, named = arguments.rpartition("*,")
        names = re.findall(r"(\w+)\s*(?:=[^,\[]*|=\[[^\]]*\])?\s*(?:,|\)\s*$)", named) if star else []

        def call(values):
            like = next((name for name in ("torch", "numpy") if name in sys.modules), None)
            values = [[_wrap(item, like) for item in v] if isinstance(v, list) else _wrap(v, like) for v in values]
            positional = len(values) - len(names)
            results = function(*values[:positional], **dict(zip(names, values[positional:])))
            if results is None:
                return []
            return [_lendable(r) for r in (results if isinstance(results, (tuple, list)) else [results])]

        _native.register_operator(schema, call)

    def load_kernels(self, path):
        """Loads operators of your own from a shared library that exports fid_plugin_export (examples/custom_operator)."""
        _native.load_kernels(os.path.abspath(path))

    def load_program(self, data, *, verification=Verification.InternalConsistency, threads=1, data_path=None, enable_etdump=False):
        """data: a path, bytes, or a file opened for binary reading. threads: how many a method's run may use.

        data_path: where weights outside the program lie: a .ptd file (path, bytes, or a DataFile that programs share), or a list of
        them. Where two have a weight of one name, the later counts.

        enable_etdump: records what loading and running takes; see Program.write_etdump_result_to_file.
        """
        if hasattr(data, "read"):
            data = data.read()
        data = bytes(data) if isinstance(data, (bytearray, memoryview)) else data
        program = _native.Program(data if isinstance(data, bytes) else os.fspath(data), threads, enable_etdump)
        files = data_path if isinstance(data_path, (list, tuple)) else [data_path] if data_path is not None else []
        return Program(program, [file._data if isinstance(file, DataFile) else DataFile(file)._data for file in files])
