"""fidibus carries a PyTorch model to any device.

    import torch, fidibus

    exported = torch.export.export(model, (x,))
    fidibus.to_edge_transform_and_lower(exported).to_executorch().save("model.pte")
    method = fidibus.Runtime.get().load_program("model.pte").load_method("forward")
    (y,) = method.execute([x])

Names and order of arguments are upstream ExecuTorch's. Importing this needs neither torch nor numpy.
"""

from ._native import Error, Tensor, version as __version__
from .containers import Struct
from .lowering import (
    CpuPartitioner,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    MemoryPlanningPass,
    XnnpackPartitioner,
    compile,
    to_edge,
    to_edge_transform_and_lower,
)
from .runtime import DataFile, Method, MethodMeta, Program, Runtime, TensorInfo, Verification

__all__ = [
    "CpuPartitioner",
    "DataFile",
    "EdgeProgramManager",
    "Error",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "MemoryPlanningPass",
    "Method",
    "MethodMeta",
    "Program",
    "Runtime",
    "Struct",
    "Tensor",
    "TensorInfo",
    "Verification",
    "XnnpackPartitioner",
    "compile",
    "to_edge",
    "to_edge_transform_and_lower",
]
