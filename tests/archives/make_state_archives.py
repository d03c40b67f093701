#!/usr/bin/env python3
"""Makes the archives about weights, state and several methods; see make_archives.py, whose layout and demands are the same.

    python3 tests/archives/make_state_archives.py
"""
import torch
from make_archives import Linear, members_of, write
from torch.export import export


class Cache(torch.nn.Module):
    """A cache of three rows, [0 0] [1 1] [2 2] at first: `fill` writes a row, `read` gives the sum of rows times a weight."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 10.0]))
        self.register_buffer("rows", torch.arange(3.0).reshape(3, 1).repeat(1, 2))

    def fill(self, row, value):
        self.rows.index_copy_(0, row, value)
        return value * self.scale

    def read(self, factor):
        return self.rows.sum(dim=0) * self.scale * factor


class Aliased(torch.nn.Module):
    """`last` is the last element of `all`: what is written to the one shows in the other."""

    def __init__(self):
        super().__init__()
        whole = torch.arange(4.0)
        self.register_buffer("all", whole)
        self.register_buffer("last", whole[3:])

    def forward(self, x):
        self.all.add_(1)
        return self.last * x


class Halves(torch.nn.Module):
    """Two buffers in one storage that have no element in common: they do not disturb each other."""

    def __init__(self):
        super().__init__()
        whole = torch.arange(4.0)
        self.register_buffer("low", whole[:2])
        self.register_buffer("high", whole[2:])

    def forward(self, x):
        self.low.add_(x)
        return self.low + self.high


class Empty(torch.nn.Module):
    """Its only constant has no elements."""

    def __init__(self):
        super().__init__()
        self.register_buffer("nothing", torch.zeros(0, 2))

    def forward(self, x):
        return torch.cat([x, self.nothing])


def method(model, name, *inputs):
    model.forward = getattr(model, name)
    return members_of(export(model, inputs))


def tuned():
    model = Linear()
    with torch.no_grad():
        model.layer.weight.mul_(-1)
    return members_of(export(model, (torch.tensor([[1.0, 2.0, 3.0]]),)))


if __name__ == "__main__":
    write("tuned.pt2", tuned())  # Linear with its weight negated
    write("cache_fill.pt2", method(Cache(), "fill", torch.tensor([0]), torch.tensor([[5.0, 7.0]])))
    write("cache_read.pt2", method(Cache(), "read", torch.ones(2)))
    write("aliased.pt2", members_of(export(Aliased(), (torch.ones(1),))))
    write("halves.pt2", members_of(export(Halves(), (torch.ones(2),))))
    write("empty_constant.pt2", members_of(export(Empty(), (torch.ones(1, 2),))))
