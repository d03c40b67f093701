"""From exported programs to .pte, by upstream's names."""

import json
import os
import pathlib
import tempfile

from . import _native


class CpuPartitioner:
    """Everything on fidibus' own kernels: fused operators, packed weights. This is the default; it leaves nothing outside."""

    target = "cpu"


class PortablePartitioner:
    """No delegate and upstream's operators only: the program also runs in upstream's runtime."""

    target = "portable"


def compile(methods, path, target="cpu", no_reuse=False, schemas=None, allow_missing=False):
    """Compiles .pt2 files to a .pte file.

    methods: a path, or a dict from method names to paths. Returns the report: operators, planned_bytes, liveness_bound_bytes,
    program_bytes, constant_bytes, unsupported (a list of dicts). Raises fidibus.Error with every reason at once.
    schemas: a file of schemas of operators that your runtime brings, one a line. allow_missing: write the program although operators
    have no kernel.
    """
    if not isinstance(methods, dict):
        methods = {"forward": methods}
    pairs = [(name, os.fspath(file)) for name, file in methods.items()]
    schemas = os.fspath(schemas) if schemas is not None else None
    report = _native.compile(pairs, os.fspath(path), target=target, no_reuse=no_reuse, schemas=schemas, allow_missing=allow_missing)
    report["unsupported"] = json.loads(report["unsupported"])
    return report


def _one_target(partitioner):
    """The target that partitioners ask for; None stands for the default."""
    if isinstance(partitioner, dict):
        targets = {_one_target(p) for p in partitioner.values()}
        if len(targets) > 1:
            raise ValueError("all methods of a program are compiled for one target")
        return targets.pop() if targets else "cpu"
    listed = partitioner if isinstance(partitioner, (list, tuple)) else [partitioner] if partitioner else []
    for one in listed:
        if not hasattr(one, "target"):
            raise TypeError(
                f"{type(one).__module__}.{type(one).__qualname__} is no partitioner of fidibus; there are CpuPartitioner and "
                "lowering.PortablePartitioner, and without any the whole model runs on our kernels"
            )
    return listed[0].target if listed else "cpu"


def _refuse(**options):
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"{name} is not supported; leave it out")


class ExecutorchProgramManager:
    """A finished program."""

    def __init__(self, buffer, report):
        self._buffer, self.report = buffer, report

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
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(self._buffer)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


class EdgeProgramManager:
    """Exported programs by method name, ready to be lowered."""

    def __init__(self, programs, target):
        self._programs, self._target = programs, target

    @property
    def methods(self):
        return set(self._programs)

    def exported_program(self, method_name="forward"):
        return self._programs[method_name]

    def to_backend(self, partitioner):
        return EdgeProgramManager(self._programs, _one_target(partitioner))

    def to_executorch(self, config=None):
        """Compiles. `config` is taken for upstream's sake; its defaults are what fidibus does."""
        import torch

        with tempfile.TemporaryDirectory(prefix="fidibus-") as folder:
            files = {}
            for i, (name, program) in enumerate(self._programs.items()):
                # The method's name stands in the file's, because messages name the file.
                files[name] = os.path.join(folder, f"{name if name.isidentifier() else i}.pt2")
                torch.export.save(program, files[name])
            output = os.path.join(folder, "program.pte")
            report = compile(files, output, self._target)
            return ExecutorchProgramManager(pathlib.Path(output).read_bytes(), report)


def to_edge_transform_and_lower(
    programs, transform_passes=None, partitioner=None, constant_methods=None, compile_config=None, generate_etrecord=False
):
    """Takes an ExportedProgram or a dict of them by method name. Without a partitioner the program is for fidibus' own kernels."""
    _refuse(transform_passes=transform_passes, constant_methods=constant_methods, generate_etrecord=generate_etrecord)
    if not isinstance(programs, dict):
        programs = {"forward": programs}
    return EdgeProgramManager(programs, _one_target(partitioner))


def to_edge(programs, constant_methods=None, compile_config=None, generate_etrecord=False):
    """As to_edge_transform_and_lower, without partitioners."""
    return to_edge_transform_and_lower(programs, None, None, constant_methods, compile_config, generate_etrecord)
