"""From exported programs to .pte, by upstream's names."""

import dataclasses
import json
import os
import pathlib
import re
import tempfile

from . import _native
from .trees import flatten


class CpuPartitioner:
    """Everything on fidibus' own kernels: fused operators, packed weights. This is the default; it leaves nothing outside."""

    target = "cpu"


class PortablePartitioner:
    """No delegate and upstream's operators only: the program also runs in upstream's runtime."""

    target = "portable"


class XnnpackPartitioner:
    """What XNNPACK can have becomes delegates, the rest upstream's portable operators: the program also runs in upstream's runtime.

    config_precisions: None, or upstream's ConfigPrecisionType.FP32: only float32 is delegated. per_op_mode: each operator is a delegate
    of its own. verbose: prints which operators stayed outside. configs, upstream's list of operators, cannot be chosen.
    """

    target = "xnnpack"

    def __init__(self, configs=None, config_precisions=None, per_op_mode=False, verbose=False):
        listed = config_precisions if isinstance(config_precisions, (list, tuple)) else [config_precisions]
        unknown = [p for p in listed if p is not None and getattr(p, "name", p) != "FP32"]
        if configs or unknown:
            raise NotImplementedError(f"{'configs' if configs else unknown} cannot be chosen: every float32 operator that XNNPACK has is delegated")
        self.per_op_mode, self.verbose = per_op_mode, verbose


def compile(
    methods,
    path,
    target="cpu",
    no_reuse=False,
    schemas=None,
    allow_missing=False,
    external_weights=None,
    share_buffers=False,
    constant_methods=None,
    precision="float32",
    winograd=True,
    per_operator=False,
):
    """Compiles .pt2 files to a .pte file.

    methods: a path, or a dict from method names to paths. target: "cpu", "portable" or "xnnpack". Returns the report: operators, planned_bytes,
    liveness_bound_bytes, plan_is_optimal, program_bytes, data_bytes, constant_bytes, winograd_bytes (by how much weights grew), unsupported
    (a list of dicts), and for xnnpack delegates, delegated (operators in them), outside (operators in none, a list of dicts). Raises fidibus.Error with every reason at once.
    precision: "float32", or "bf16" for products of linear layers and convolutions in bfloat16 with sums in float32 (target cpu).
    winograd: False sums all convolutions directly (target cpu).
    per_operator: each operator that XNNPACK can have is a delegate of its own (target xnnpack).
    schemas: a file of schemas of operators that your runtime brings, one a line. allow_missing: write the program although operators
    have no kernel.
    external_weights: a .ptd file for the weights, or a dict from patterns of weights' names ("*lora*") to files; what fits none stays in
    the program. share_buffers: methods share mutable buffers of one name. constant_methods: a dict from names of further methods to what
    they return: numbers, bools, texts, tensors, and lists, tuples and dicts of these.
    """
    if not isinstance(methods, dict):
        methods = {"forward": methods}
    if external_weights is not None and not isinstance(external_weights, dict):
        external_weights = {"*": external_weights}
    report = _native.compile(
        [(name, os.fspath(file)) for name, file in methods.items()],
        os.fspath(path),
        target=target,
        no_reuse=no_reuse,
        schemas=os.fspath(schemas) if schemas is not None else None,
        allow_missing=allow_missing,
        external_weights=[(pattern, os.fspath(file)) for pattern, file in (external_weights or {}).items()],
        share_buffers=share_buffers,
        precision=precision,
        winograd=winograd,
        per_operator=per_operator,
        constants=[(name, *flatten(value)) for name, value in (constant_methods or {}).items()],
    )
    report["unsupported"], report["outside"] = json.loads(report["unsupported"]), json.loads(report["outside"])
    if report["outside"] is None:
        del report["delegates"], report["delegated"], report["outside"]
    return report


@dataclasses.dataclass
class MemoryPlanningPass:
    """What of upstream's planning can be chosen: whether methods share the mutable buffers of one name."""

    share_mutable_buffers: bool = False


@dataclasses.dataclass
class ExecutorchBackendConfig:
    """What to_executorch takes; upstream's own config is taken as well.

    external_constants: True puts all weights into a data file; a function is asked for each parameter and buffer of the exported graph (its
    placeholder node) and gives the name of a data file, without .ptd, or None. emit_mutable_buffer_names: fidibus always does.
    """

    external_constants: object = False
    memory_planning_pass: MemoryPlanningPass = dataclasses.field(default_factory=MemoryPlanningPass)
    emit_mutable_buffer_names: bool = True


_ALL_WEIGHTS = "_default_external_constant"


def _weights(program):
    """Placeholder nodes of an exported program's parameters and buffers, with the names of these."""
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    return [(node, names[node.name]) for node in program.graph.nodes if node.op == "placeholder" and node.name in names]


def _external_files(config, programs):
    """Data files by pattern, as `config` asks."""
    external = getattr(config, "external_constants", False)
    if not external:
        return {}
    if not callable(external):
        return {"*": _ALL_WEIGHTS}
    files = {}
    for program in programs.values():
        for node, name in _weights(program):
            file = external(node)
            if file is not None:
                files[re.sub(r"([][*?\\])", r"\\\1", name)] = file  # a pattern that fits this name only
    return files


def _one_partitioner(partitioner):
    """The partitioner that counts: the first of a list; None stands for the default."""
    if isinstance(partitioner, dict):
        chosen = [_one_partitioner(p) for p in partitioner.values()] or [CpuPartitioner()]
        if len({p.target for p in chosen}) > 1:
            raise ValueError("all methods of a program are compiled for one target")
        return chosen[0]
    listed = partitioner if isinstance(partitioner, (list, tuple)) else [partitioner] if partitioner else []
    for one in listed:
        if not hasattr(one, "target"):
            raise TypeError(
                f"{type(one).__module__}.{type(one).__qualname__} is no partitioner of fidibus; there are CpuPartitioner, "
                "XnnpackPartitioner and lowering.PortablePartitioner, and without any the whole model runs on our kernels"
            )
    return listed[0] if listed else CpuPartitioner()


def _refuse(**options):
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"{name} is not supported; leave it out")


class ExecutorchProgramManager:
    """A finished program."""

    def __init__(self, buffer, report, tensor_data=None):
        self._buffer, self.report, self._tensor_data = buffer, report, tensor_data or {}

    @property
    def buffer(self):
        """The bytes of the .pte file."""
        return self._buffer

    def write_to_file(self, open_file):
        """Writes the program to a file opened for binary writing."""
        open_file.write(self._buffer)

    def save(self, path):
        """Writes the program under a temporary name and renames it. The name must end in .pte, as upstream demands."""
        path = pathlib.Path(path)
        if path.suffix != ".pte":
            raise ValueError(f"{path} does not end in .pte")
        _write(path, self._buffer)

    def write_tensor_data_to_file(self, outdir):
        """Writes the data files with the weights that lie outside the program: outdir/NAME.ptd for each."""
        for name, data in self._tensor_data.items():
            _write(pathlib.Path(outdir) / f"{name}.ptd", data)


def _write(path, data):
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class EdgeProgramManager:
    """Exported programs by method name, ready to be lowered."""

    def __init__(self, programs, partitioner, constant_methods=None):
        self._programs, self._partitioner, self._constants = programs, partitioner, dict(constant_methods or {})

    @property
    def methods(self):
        return set(self._programs)

    @property
    def config_methods(self):
        """Names of the methods that only return a constant."""
        return set(self._constants)

    def exported_program(self, method_name="forward"):
        return self._programs[method_name]

    def to_backend(self, partitioner):
        return EdgeProgramManager(self._programs, _one_partitioner(partitioner), self._constants)

    def to_executorch(self, config=None):
        """Compiles, as an ExecutorchBackendConfig says, ours or upstream's; what neither names is as fidibus does it."""
        import torch

        externals = _external_files(config, self._programs)
        share = getattr(getattr(config, "memory_planning_pass", None), "share_mutable_buffers", False)

        with tempfile.TemporaryDirectory(prefix="fidibus-") as folder:
            files = {}
            for i, (name, program) in enumerate(self._programs.items()):
                # The method's name stands in the file's, because messages name the file.
                files[name] = os.path.join(folder, f"{name if name.isidentifier() else i}.pt2")
                torch.export.save(program, files[name])
            output = os.path.join(folder, "program.pte")
            report = compile(
                files,
                output,
                self._partitioner.target,
                per_operator=getattr(self._partitioner, "per_op_mode", False),
                external_weights={pattern: os.path.join(folder, f"{name}.ptd") for pattern, name in externals.items()},
                share_buffers=share,
                constant_methods=self._constants,
            )
            if getattr(self._partitioner, "verbose", False):
                print(f"{report['delegates']} delegates of {report['delegated']} operators; outside: {report['outside']}")
            data = {name: pathlib.Path(folder, f"{name}.ptd").read_bytes() for name in sorted(set(externals.values()))}
            return ExecutorchProgramManager(pathlib.Path(output).read_bytes(), report, data)


def to_edge_transform_and_lower(
    programs, transform_passes=None, partitioner=None, constant_methods=None, compile_config=None, generate_etrecord=False
):
    """Takes an ExportedProgram or a dict of them by method name. Without a partitioner the program is for fidibus' own kernels."""
    _refuse(transform_passes=transform_passes, generate_etrecord=generate_etrecord)
    if not isinstance(programs, dict):
        programs = {"forward": programs}
    return EdgeProgramManager(programs, _one_partitioner(partitioner), constant_methods)


def to_edge(programs, constant_methods=None, compile_config=None, generate_etrecord=False):
    """As to_edge_transform_and_lower, without partitioners."""
    return to_edge_transform_and_lower(programs, None, None, constant_methods, compile_config, generate_etrecord)
