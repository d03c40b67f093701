"""Makes the golden programs with upstream's exporter (executorch 1.5): python make_golden.py

Each program is written beside a .txt that lists, for one or more calls, inputs and what PyTorch gives for them. The runtime's
tests read both. One line a value: "call", "input DTYPE SHAPE NUMBERS", "output DTYPE SHAPE NUMBERS".
"""
import pathlib

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch.export import Dim, export

HERE = pathlib.Path(__file__).parent


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Scale(torch.nn.Module):
    def forward(self, x, y):
        return x * 2 + y, x - y


class Sum(torch.nn.Module):
    def __init__(self, times):
        super().__init__()
        self.times = times

    def forward(self, x, y):
        for _ in range(self.times):
            x = x + y
        return x


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


class Mapped(torch.nn.Module):
    def forward(self, x, y):
        return torch._higher_order_ops.map(lambda row, y: row + y, x, y)


class Accumulate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 1.0


class Pieces(torch.nn.Module):
    def forward(self, x):
        a, b = torch.split(x, [1, 2], dim=1)
        values, indices = torch.max(x, dim=1)
        return a, b, values, indices, torch.cat([b, a], dim=1)


class Grow(torch.nn.Module):
    def forward(self, x):
        return x.reshape(-1, 2).sum(dim=1), torch.cat([x, x], dim=0)


class Through(torch.nn.Module):
    """Outputs that are an input and a constant, and inputs that are numbers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(4))

    def forward(self, x, n: int, flag: bool, text: str):
        return x, self.table, x + n


def line(kind, value):
    if isinstance(value, torch.Tensor):
        numbers = " ".join(repr(v) for v in value.flatten().tolist())
        shape = "x".join(str(s) for s in value.shape) or "scalar"
        return f"{kind} {str(value.dtype)[6:]} {shape} {numbers}"
    return f"{kind} {type(value).__name__} - {value}"


def save(name, methods, calls, passes=(), **config):
    edge = to_edge({m: export(module.eval(), inputs, dynamic_shapes=shapes, strict=True) for m, (module, inputs, shapes) in methods.items()},
                   compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch(ExecutorchBackendConfig(passes=list(passes), **config))
    (HERE / f"{name}.pte").write_bytes(program.buffer)
    lines = []
    for method, inputs in calls:
        outputs = methods[method][0](*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
        lines.append(f"call {method}")
        lines += [line("input", x) for x in inputs]
        flat = outputs if isinstance(outputs, tuple) else (outputs,)
        lines += [line("output", y) for y in flat]
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n")


def main():
    torch.manual_seed(0)
    batch = Dim("batch", min=1, max=6)
    x = torch.randn(2, 4)
    save("two_methods",
         {"forward": (Perceptron(), (x,), {"x": {0: batch}}), "scale": (Scale(), (torch.randn(3), torch.randn(3)), None)},
         [("forward", (x,)), ("forward", (torch.randn(6, 4),)), ("forward", (torch.randn(1, 4),)),
          ("scale", (torch.randn(3), torch.randn(3)))])
    pair = (torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]))
    save("sums", {"once": (Sum(1), pair, None), "twice": (Sum(2), pair, None)}, [("once", pair), ("twice", pair)])
    save("branch", {"forward": (Branch(), (torch.ones(2, 3),), None)},
         [("forward", (torch.ones(2, 3),)), ("forward", (-torch.ones(2, 3),)), ("forward", (torch.ones(2, 3),))])
    save("mapped", {"forward": (Mapped(), (torch.randn(3, 2), torch.randn(2)), None)},
         [("forward", (torch.randn(3, 2), torch.randn(2)))] * 2)
    save("accumulate", {"forward": (Accumulate(), (torch.ones(3),), None)},
         [("forward", (torch.ones(3),)), ("forward", (torch.tensor([0.5, 0.0, -1.0]),))],
         passes=[InitializedMutableBufferPass(["total"])])
    save("pieces", {"forward": (Pieces(), (torch.randn(2, 3),), None)}, [("forward", (torch.randn(2, 3),))])
    length = Dim("length", min=1, max=8)
    save("grow", {"forward": (Grow(), (torch.randn(2 * 2, 3),), {"x": {0: 2 * length}})},
         [("forward", (torch.randn(n, 3),)) for n in (16, 4, 2, 16)])
    save("through", {"forward": (Through(), (torch.randn(2), 3, True, "mode"), None)},
         [("forward", (torch.randn(2), 3, True, "mode"))])


if __name__ == "__main__":
    main()
