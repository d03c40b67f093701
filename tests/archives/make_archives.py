#!/usr/bin/env python3
"""Makes the small exported programs that the archive reader's tests read.

Needs torch 2.9 or later; the archives are committed, so only a change of this script needs it:

    python3 tests/archives/make_archives.py

Stack traces are cut to this script's own frames under the name model.py, and members are written with a fixed date and at
multiples of 64 bytes as torch.export.save does, so that the files are small and the same on every machine.
"""
import copy
import io
import json
import os
import re
import struct
import zipfile

import torch
from torch.export import Dim, export, save

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- Archives as dicts of members -------------------------------------------------------------------------------------


def cut_trace(trace):
    frames = re.findall(r'File "([^"]*)", line (\d+), in (\S+)\n\s*([^\n]*)', trace)
    own = [f for f in frames if f[0].endswith("make_archives.py")]
    return "\n".join(f'File "model.py", line {line}, in {function}\n    {code}' for _, line, function, code in own)


def clean(value):
    """Drops what differs between machines from an exported program's JSON."""
    if isinstance(value, dict):
        if isinstance(value.get("metadata"), dict):
            value["metadata"].pop("from_node", None)
            value["metadata"].pop("torch_fn", None)
            if "stack_trace" in value["metadata"]:
                value["metadata"]["stack_trace"] = cut_trace(value["metadata"]["stack_trace"])
        for item in value.values():
            clean(item)
    elif isinstance(value, list):
        for item in value:
            clean(item)
    return value


def members_of(program):
    buffer = io.BytesIO()
    save(program, buffer)
    buffer.seek(0)
    with zipfile.ZipFile(buffer) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    root = next(iter(members)).split("/")[0] + "/"
    members = {"model/" + name.removeprefix(root): data for name, data in members.items()}
    members = {name: data for name, data in members.items() if "/.data/" not in name}
    model = find(members, "models/")
    members[model] = json.dumps(clean(json.loads(members[model]))).encode()
    return members


def find(members, part):
    return next(name for name in members if part in name)


def write(name, members, compression=zipfile.ZIP_STORED):
    path = os.path.join(HERE, name)
    with open(path, "wb") as file, zipfile.ZipFile(file, "w", compression) as archive:
        for member, data in members.items():
            info = zipfile.ZipInfo(member)
            info.compress_type = compression
            if compression == zipfile.ZIP_STORED:
                start = file.tell() + 30 + len(member)
                info.extra = struct.pack("<HH", 0x4246, (-start - 4) % 64) + b"\0" * ((-start - 4) % 64)
            archive.writestr(info, data)
    print(f"{name}: {os.path.getsize(path)} bytes")


def with_json(members, edit, part="models/"):
    """A copy whose JSON went through `edit`."""
    members = dict(members)
    member = find(members, part)
    content = json.loads(members[member])
    edit(content)
    members[member] = json.dumps(content).encode()
    return members


# ---- Models -----------------------------------------------------------------------------------------------------------


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        with torch.no_grad():
            self.layer.weight.copy_(torch.arange(6.0).reshape(2, 3))
            self.layer.bias.copy_(torch.tensor([0.5, -0.5]))

    def forward(self, x):
        return self.layer(x)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64))
        self.register_buffer("step", torch.tensor([1, 2]), persistent=False)

    def forward(self, x):
        self.count.add_(self.step)
        return x + self.count


class OutForms(torch.nn.Module):
    """Results written into a tensor that is there, and a change of size in place."""

    def forward(self, x, y):
        z = torch.empty_like(x)
        seen = z.view(-1)
        torch.atan2(x, y, out=z)
        rest = (x + y).resize_(2, 2)
        return z + 1, seen, rest * 2


class InPlace(torch.nn.Module):
    def forward(self, x, y):
        z = x + 1.5
        z.relu_()
        z[0].mul_(y)
        z.unsqueeze_(0)
        y.copy_(z.sum())
        return z


class Dynamic(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat([x.reshape(x.shape[0] * 2, -1), y.reshape(-1, 4)])


class Scaled(torch.nn.Module):
    """A number of tokens stands in the graph itself."""

    def forward(self, x):
        return x * x.shape[0] + x.shape[0] // 2


class Shared(torch.nn.Module):
    """`part` and `turned` are views into the storage of `whole`."""

    def __init__(self):
        super().__init__()
        whole = torch.arange(12.0).reshape(3, 4)
        self.register_buffer("whole", whole)
        self.register_buffer("part", whole[1:])
        self.register_buffer("turned", whole.t())

    def forward(self, x):
        return x + self.whole, x[1:] + self.part, x.t() + self.turned


class Dtypes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bf16", torch.tensor([1.0, -2.5], dtype=torch.bfloat16))
        self.register_buffer("f16", torch.tensor([0.5], dtype=torch.float16))
        self.register_buffer("i64", torch.tensor([-(2**40)]))
        self.register_buffer("u8", torch.tensor([255, 0, 7], dtype=torch.uint8))
        self.register_buffer("mask", torch.tensor([[True, False]]))
        self.register_buffer("empty", torch.zeros(0, 3))

    def forward(self, x):
        return x + self.bf16, x + self.f16, x + self.i64, x[0] + self.u8, x + self.mask, torch.cat([self.empty, self.empty])


class Scalars(torch.nn.Module):
    def forward(self, x, n: int, factor: float, flag: bool, nothing, name: str):
        return x * n + factor if flag else x


class ComplexNumbers(torch.nn.Module):
    def forward(self, x, z):
        waves = torch.where(x > 0, 1j, 0.5) + torch.full((2,), 1 + 2j)
        return x * 1j, 2j - z, z == 1j, z.masked_fill(x > 0, -1j), waves


class LiveInt(torch.nn.Module):
    def forward(self, x, n: int):
        return x + n


class Nested(torch.nn.Module):
    def forward(self, pair, table, *, scale, bias):
        return {"sum": (pair[0] + pair[1]) * scale, "rest": [table["b"], table["a"] + bias]}


class NoGrad(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x + x
            z = y * 2
        return z + y


class Names(torch.nn.Module):
    """Names that the compiler makes up itself, in the user's hands."""

    def forward(self, t0, example):
        with torch.no_grad():
            sum = example[0] + t0
        return sum, t0 + 1


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t * 2, (x,))


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.Conv2d(8, 4, 3, stride=2, bias=False)
        for layer in (self.first, self.second):
            torch.nn.init.constant_(layer.weight, 0.125)

    def forward(self, x):
        return self.second(self.first(x).relu()).mean((2, 3))


class Layout(torch.nn.Module):
    def forward(self, x):
        return x + x


@torch.library.custom_op("mylib::twist", mutates_args=())
def twist(x: torch.Tensor, by: int) -> torch.Tensor:
    return x.roll(by)


@twist.register_fake
def _(x, by):
    return torch.empty_like(x)


@torch.library.custom_op("mylib::fold", mutates_args=())
def fold(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0)


@fold.register_fake
def _(x):
    return torch.empty_like(x)


class Unknown(torch.nn.Module):
    def forward(self, x):
        x = torch.ops.mylib.twist(x, 1)
        x = torch.ops.mylib.fold(x)
        return torch.ops.mylib.twist(x, 2)


# ---- Good archives ----------------------------------------------------------------------------------------------------


def legacy(program):
    """The layout of archives before torch 2.8: four members at the top, each a torch.save of its own."""
    from torch._export.serde.serialize import serialize

    artifact = serialize(program)
    return {
        "version": b"8.8",
        "serialized_exported_program.json": json.dumps(clean(json.loads(artifact.exported_program))).encode(),
        "serialized_state_dict.pt": artifact.state_dict,
        "serialized_constants.pt": artifact.constants,
        "serialized_example_inputs.pt": artifact.example_inputs,
    }


def pickled(members):
    """The weight as a torch.save of a parameter, as tensor subclasses are saved."""
    weights = json.loads(members[find(members, "weights_config")])
    member = "model/data/weights/" + weights["config"]["layer.weight"]["path_name"]
    weights["config"]["layer.weight"]["use_pickle"] = True
    buffer = io.BytesIO()
    torch.save(Linear().layer.weight, buffer)
    return dict(members, **{member: buffer.getvalue(), find(members, "weights_config"): json.dumps(weights).encode()})


def good():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    linear = export(Linear(), (x,))
    members = members_of(linear)
    write("linear.pt2", members)
    write("deflated.pt2", members, zipfile.ZIP_DEFLATED)
    write("legacy.pt2", legacy(linear))
    write("pickled_weight.pt2", pickled(members))
    write("counter.pt2", members_of(export(Counter(), (torch.tensor([3, 4]),))))
    write("counter_functional.pt2", members_of(export(Counter(), (torch.tensor([3, 4]),)).run_decompositions()))
    write("out_forms.pt2", members_of(export(OutForms(), (torch.ones(2, 3), torch.ones(2, 3)))))
    write("in_place.pt2", members_of(export(InPlace(), (torch.ones(2, 3), torch.tensor(2.0)))))
    batch = Dim("batch", min=2, max=16)
    dynamic = export(Dynamic(), (torch.ones(3, 8), torch.ones(6, 8)), dynamic_shapes=({0: batch}, {0: 2 * batch}))
    write("dynamic.pt2", members_of(dynamic))
    write("scaled.pt2", members_of(export(Scaled(), (torch.ones(5, 2),), dynamic_shapes=({0: Dim("n", min=2)},))))
    write("shared.pt2", members_of(export(Shared(), (torch.zeros(3, 4),))))
    write("dtypes.pt2", members_of(export(Dtypes(), (torch.zeros(1, 1),))))
    write("scalars.pt2", members_of(export(Scalars(), (torch.ones(2), 3, 0.5, True, None, "text"))))
    write("complex_numbers.pt2", members_of(export(ComplexNumbers(), (torch.ones(2), torch.ones(2, dtype=torch.complex64)))))
    write("live_int.pt2", members_of(export(LiveInt(), (torch.ones(2), 3), dynamic_shapes=(None, Dim.DYNAMIC))))
    pair, table = (torch.zeros(1), torch.ones(1)), {"b": torch.full((1,), 2.0), "a": torch.full((1,), 3.0)}
    keywords = {"bias": torch.full((1,), 5.0), "scale": 4}
    write("nested.pt2", members_of(export(Nested(), (pair, table), keywords)))
    write("no_grad.pt2", members_of(export(NoGrad(), (torch.ones(2),))))
    write("names.pt2", members_of(export(Names(), (torch.ones(1), (torch.ones(1),)))))
    write("branches.pt2", members_of(export(Branches(), (torch.ones(2),))))
    sides = {2: Dim("height", min=8, max=40), 3: Dim("width", min=8, max=40)}
    write("convolutions.pt2", members_of(export(Convolutions(), (torch.ones(1, 3, 16, 16),), dynamic_shapes=(sides,))))
    write("channels_last.pt2", members_of(export(Layout(), (torch.zeros(1, 3, 2, 2).to(memory_format=torch.channels_last),))))


# ---- Bad archives -----------------------------------------------------------------------------------------------------


def bad():
    linear = members_of(export(Linear(), (torch.tensor([[1.0, 2.0, 3.0]]),)))
    weights = json.loads(linear[find(linear, "weights_config")])["config"]
    weight = "model/data/weights/" + weights["layer.weight"]["path_name"]
    with open(os.path.join(HERE, "not_zip.pt2"), "wb") as file:
        file.write(b"this is no zip archive\n")
    write("no_export.pt2", {"hello/world.txt": b"hello\n"})
    write("checkpoint.pt2", {"archive/data.pkl": b"\x80\x02}q\x00.", "archive/byteorder": b"little"})
    write("newer_schema.pt2", with_json(linear, lambda m: m["schema_version"].update(major=9, minor=1)))
    write("missing_weight.pt2", {name: data for name, data in linear.items() if name != weight})
    write("unlisted_weight.pt2", with_json(linear, lambda m: m["config"].pop("layer.weight"), "weights_config"))
    write("short_weight.pt2", dict(linear, **{weight: linear[weight][:20]}))
    write("big_endian.pt2", dict(linear, **{"model/byteorder": b"big"}))
    write("unknown_operators.pt2", members_of(export(Unknown(), (torch.ones(3),))))


if __name__ == "__main__":
    torch.manual_seed(0)
    good()
    bad()
