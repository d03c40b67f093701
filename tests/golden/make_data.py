"""Makes outside.pte with outside.ptd, and shared.pte, with upstream's exporter (executorch 1.5): python make_data.py

outside: a program whose weights lie in a data file, and shared.pte: two methods that share a mutable buffer in planned memory 2. What
runtime/data_test.c reads.
"""
import pathlib

import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch.export import export

HERE = pathlib.Path(__file__).parent


class Outside(torch.nn.Module):
    """y = (x * scale + shift) * table, with scale = [1 2 3], shift = [10 20 30], and a table of int64."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.shift = torch.nn.Parameter(torch.tensor([10.0, 20.0, 30.0]))
        self.register_buffer("table", torch.tensor([[1, 0, -1], [2, 2, 2]]))

    def forward(self, x):
        return (x * self.scale + self.shift) * self.table


class Cache(torch.nn.Module):
    """One buffer that one method adds to and the other shows."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0]))

    def add(self, x):
        self.total.add_(x)
        return x * 1.0

    def show(self, x):
        return self.total * x


def method(model, name, x):
    model.forward = getattr(model, name)
    return export(model, (x,))


program = to_edge(export(Outside(), (torch.zeros(2, 3),))).to_executorch(ExecutorchBackendConfig(external_constants=True))
(HERE / "outside.pte").write_bytes(program.buffer)
program.write_tensor_data_to_file(str(HERE))
(HERE / "_default_external_constant.ptd").rename(HERE / "outside.ptd")

x = torch.zeros(2)
methods = {name: method(Cache(), name, x) for name in ("add", "show")}
config = ExecutorchBackendConfig(
    passes=[InitializedMutableBufferPass(["total"])],
    memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True),
    emit_mutable_buffer_names=True,
)
(HERE / "shared.pte").write_bytes(to_edge(methods).to_executorch(config).buffer)
