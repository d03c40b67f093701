"""Writes model.pt2, a model that calls an operator of our own at two places, with a batch of 1 to 16."""

import pathlib

import torch


@torch.library.custom_op("mine::leaky_clip", mutates_args=())
def leaky_clip(x: torch.Tensor, low: float, high: float, slope: float = 0.01) -> torch.Tensor:
    clipped = x.clamp(low, high)
    return clipped + slope * (x - clipped)


@leaky_clip.register_fake
def _(x, low, high, slope=0.01):
    return torch.empty_like(x)


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mine.leaky_clip(torch.ops.mine.leaky_clip(x, -1.0, 1.0) * 2, -1.5, 1.5, 0.5)


if __name__ == "__main__":
    print(torch.ops.mine.leaky_clip.default._schema)
    batch = torch.export.Dim("batch", min=1, max=16)
    exported = torch.export.export(Model().eval(), (torch.tensor([[-3.0, -0.5, 0.25, 3.0]] * 2),), dynamic_shapes=({0: batch},))
    for node in exported.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of the machine that made it help nobody
    torch.export.save(exported, pathlib.Path(__file__).parent / "model.pt2")
    print(Model()(torch.tensor([[-3.0, -0.5, 0.25, 3.0]])))
