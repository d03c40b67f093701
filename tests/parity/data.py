"""Weights outside the program, state and several methods, between fidibus, eager PyTorch and upstream.

Models from models.py and layers.py with their weights in data files, both ways; a model with a key/value cache that steps; and two
methods that share a buffer. What runs in upstream's runtime or comes from its exporter is in processes of its own.
"""

import shutil
import sys

import numpy as np
import torch
from torch import nn

# One process for all, as starting upstream takes longer than the rest: "program data out inputs..." in a line each.
RUN = """
import sys, numpy as np, torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch
for line in open(sys.argv[1]):
    program, data, out, *inputs = line.split()
    try:
        outputs = _load_for_executorch(program, data).forward([torch.from_numpy(np.load(f)) for f in inputs])
        np.save(out, outputs[0].contiguous().numpy())
    except Exception as error:
        print(program, error)
"""

# "out method=archive..." in a line each. With several methods the weights stay inside: upstream 1.5 forgets those of shared buffers else.
EXPORT = """
import sys, pathlib, torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
for line in open(sys.argv[1]):
    out, *archives = line.split()
    programs = {a.split("=")[0]: torch.export.load(a.split("=")[1]) for a in archives}
    several = len(programs) > 1
    plan = MemoryPlanningPass(share_mutable_buffers=several)
    config = ExecutorchBackendConfig(external_constants=not several, memory_planning_pass=plan, emit_mutable_buffer_names=True)
    try:
        program = to_edge(programs).to_executorch(config)
        pathlib.Path(out + ".pte").write_bytes(program.buffer)
        program.write_tensor_data_to_file(str(pathlib.Path(out).parent))
        if not several:
            pathlib.Path(out).parent.joinpath("_default_external_constant.ptd").rename(out + ".ptd")
    except Exception as error:
        print(out, error)
"""

MODELS = ["linear", "linear_without_bias", "conv1d", "conv2d", "conv2d_depthwise", "batch_norm2d", "embedding"]


class Cache(nn.Module):
    """A layer of attention over a cache of eight steps: `fill` writes step `at` and answers, `read` answers only."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(6, 6) for _ in range(3))
        self.register_buffer("keys", torch.zeros(8, 6))
        self.register_buffer("values", torch.zeros(8, 6))

    def answer(self, x):
        return torch.softmax(self.q(x) @ self.keys.T / 6**0.5, dim=-1) @ self.values

    def fill(self, x, at):
        self.keys.index_copy_(0, at, self.k(x))
        self.values.index_copy_(0, at, self.v(x))
        return self.answer(x)

    def read(self, x):
        return self.answer(x)


def cache_archives(work):
    torch.manual_seed(3)
    model, x, at = Cache().eval().requires_grad_(False), torch.ones(1, 6), torch.tensor([0])
    archives = {}
    for name, inputs in (("fill", (x, at)), ("read", (x,))):
        model.forward = getattr(model, name)
        archives[name] = work / f"cache_{name}.pt2"
        torch.export.save(torch.export.export(model, inputs), archives[name])
    return model, archives


class Checks:
    def __init__(self, score, fidibus, upstream, parity):
        self.score, self.fidibus, self.upstream, self.parity = score, fidibus, upstream, parity
        self.work = fidibus.work / "data"
        self.work.mkdir(exist_ok=True)

    def compile(self, out, target, *words):
        self.parity.command(self.fidibus.path, "compile", *words, "-o", f"{out}.pte", "--target", target, "--external-weights", f"{out}.ptd")
        return out

    def run(self, out, *words):
        """The last call's first output."""
        folder = self.work / "out"
        shutil.rmtree(folder, ignore_errors=True)
        data = ("--data", f"{out}.ptd") if out.with_name(f"{out.name}.ptd").exists() else ()
        self.parity.command(self.fidibus.path, "run", f"{out}.pte", *data, *words, "--output-dir", folder)
        return np.load(sorted(folder.glob("**/output_0.npy"), key=lambda p: int(p.parent.name[5:] or 0) if p.parent != folder else 0)[-1])

    def inputs(self, files):
        return [w for f in files for w in ("--input", f)]

    def upstream_runs(self, script, lines):
        if self.upstream:
            jobs = self.work / "jobs.txt"
            jobs.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
            print(self.parity.command(sys.executable, "-c", script, jobs), end="")

    def models(self, prepared):
        """prepared: name -> (archive, files, expected)"""
        for name, (archive, files, expected) in prepared.items():
            for target in ("cpu", "portable"):

                def ours(name=name, archive=archive, files=files, expected=expected, target=target):
                    out = self.compile(self.work / f"{name}.{target}", target, archive)
                    return self.parity.compare(self.run(out, *self.inputs(files)), expected[0])

                self.score.check(f"data {name}: {target}", ours)
        ours_there = {name: self.work / f"{name}.portable" for name in prepared}
        self.upstream_runs(RUN, [(f"{out}.pte", f"{out}.ptd", self.work / f"{name}.up.npy", *prepared[name][1]) for name, out in ours_there.items()])
        self.upstream_runs(EXPORT, [(self.work / f"{name}.upstream", f"forward={prepared[name][0]}") for name in prepared])
        for name, (_, files, expected) in prepared.items() if self.upstream else ():
            self.score.check(f"data {name}: ours in upstream",
                             lambda name=name, expected=expected: self.parity.compare(np.load(self.work / f"{name}.up.npy"), expected[0]))
            self.score.check(f"data {name}: upstream's here", lambda name=name, files=files, expected=expected: self.parity.compare(
                self.run(self.work / f"{name}.upstream", *self.inputs(files)), expected[0]))

    def steps(self, out, model, share):
        """Eight steps of the cache, then a read; what the reading method sees depends on whether they share."""
        words, state = [], {"keys": torch.zeros(8, 6), "values": torch.zeros(8, 6)}
        for step in range(8):
            x, at = torch.full((1, 6), 0.3 * step - 1), torch.tensor([step])
            np.save(self.work / f"x{step}.npy", x.numpy())
            np.save(self.work / f"at{step}.npy", at.numpy())
            words += ["--method", "fill", *self.inputs([self.work / f"x{step}.npy", self.work / f"at{step}.npy"]), "--next"]
        model.keys.copy_(state["keys"]), model.values.copy_(state["values"])
        for step in range(8):
            filled = model.fill(torch.full((1, 6), 0.3 * step - 1), torch.tensor([step]))
        found = self.run(out, *words[:-1])
        error = self.parity.compare(found, filled.numpy())
        read = model.read(torch.full((1, 6), 0.3 * 7 - 1)) if share else torch.zeros(1, 6)
        self.parity.compare(self.run(out, *words, "--method", "read", *self.inputs([self.work / "x7.npy"])), read.numpy())
        return error

    def cache(self):
        model, archives = cache_archives(self.work)
        methods = [w for name, file in archives.items() for w in ("--method", f"{name}={file}")]
        for target in ("cpu", "portable"):
            for share in (True, False):

                def body(target=target, share=share):
                    out = self.compile(self.work / f"cache.{target}.{share}", target, *methods, *(["--share-buffers"] if share else []))
                    return self.steps(out, model, share)

                self.score.check(f"data cache: {target}, {'shared' if share else 'private'}", body)

        if self.upstream:
            out = self.work / "cache.upstream"
            self.upstream_runs(EXPORT, [(out, *(f"{name}={file}" for name, file in archives.items()))])
            self.score.check("data cache: upstream's here, shared", lambda: self.steps(out, model, True))


def check(score, fidibus, upstream, parity):
    import layers

    checks = Checks(score, fidibus, upstream, parity)
    prepared = {name: parity.prepare(layers.build, name, fidibus.work) for name in MODELS}
    checks.models({name: (archive, files, expected) for name, (archive, files, _, expected) in prepared.items()})
    checks.cache()
