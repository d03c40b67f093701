"""The systems that bench.py compares: how each gets its file from an archive, and how it is timed.

A rival that cannot be installed, converted or run is absent with a reason; the others are measured all the same.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


class Absent(Exception):
    """Why a system takes no part."""


def raise_weight():
    """In the child: a session of its own with more weight. Where the scheduler groups by session, nice alone changes nothing."""
    try:
        pathlib.Path("/proc/self/autogroup").write_text("-10")
    except OSError:
        pass  # not root, or no such scheduler: the figures are noisier


def call(words, seconds, timing=False):
    """Standard output of a command, which ends after some seconds; Absent with its last words."""
    words = [str(w) for w in words]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=seconds, start_new_session=True, preexec_fn=raise_weight if timing else None
        )
    except subprocess.TimeoutExpired:
        raise Absent(f"{pathlib.Path(words[0]).name} took over {seconds} s") from None
    except OSError as error:
        raise Absent(str(error)) from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Absent(f"exit status {done.returncode}: {lines[-1][:300] if lines else ''}")
    return done.stdout


# ---- Files: scripts that make one from an archive, each run by the Python that has the packages -----------------------------

XNNPACK = """
import sys, torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
edge = to_edge_transform_and_lower(torch.export.load(sys.argv[1]), partitioner=[XnnpackPartitioner()])
open(sys.argv[2], "wb").write(edge.to_executorch().buffer)
"""

PORTABLE = """
import sys, torch
from executorch.exir import to_edge
open(sys.argv[2], "wb").write(to_edge(torch.export.load(sys.argv[1])).to_executorch().buffer)
"""

ONNX = """
import sys, torch
torch.onnx.export(torch.export.load(sys.argv[1]), (), sys.argv[2], dynamo=True, external_data=False, verbose=False)
"""

LITERT = """
import sys, numpy as np, torch, litert_torch
archive, out, *inputs = sys.argv[1:]
module = torch.export.load(archive).module()
litert_torch.convert(module, tuple(torch.from_numpy(np.load(f)) for f in inputs)).export(out)
"""


class Workshop:
    """The Python environments, the folder of files, and how long a conversion may take."""

    def __init__(self, work, fidibus, pythons, seconds):
        self.work, self.fidibus, self.pythons, self.seconds = work, fidibus, pythons, seconds

    def python(self, name):
        path = self.pythons.get(name)
        if not path or not pathlib.Path(path).exists():
            raise Absent(f"its Python environment \"{name}\" is not installed")
        return path

    def make(self, archive, suffix, environment, script, extra=()):
        """The file beside the archive; made when first asked for. A failure is remembered, so that it costs its time once."""
        path, failure = archive.with_suffix(suffix), archive.with_suffix(suffix + ".failed")
        if path.exists():
            return path
        if failure.exists():
            raise Absent(failure.read_text())
        temporary = archive.with_suffix(suffix + ".part")
        try:
            call([self.python(environment), "-c", script, archive, temporary, *extra], self.seconds)
        except Absent as reason:
            if environment in self.pythons:
                failure.write_text(f"no {suffix} file: {reason}")
            raise Absent(f"no {suffix} file: {reason}") from None
        os.replace(temporary, path)
        return path

    def upstream_runner(self):
        """upstream_bench.cpp, built against the libraries of upstream's wheel. No CMake: the wheel's package wants 3.28 or newer."""
        binary = self.work / "upstream_bench"
        if binary.exists() and binary.stat().st_mtime > (HERE / "upstream_bench.cpp").stat().st_mtime:
            return binary
        found = call([self.python("torch"), "-c", "import importlib.util as u; print(u.find_spec('executorch').submodule_search_locations[0])"], 60)
        package = pathlib.Path(found.strip())
        library = package / "lib"
        names = ["kernels_optimized", "kernels_quantized", "backend_xnnpack", "threadpool"]
        call(
            ["c++", "-std=c++17", "-O1", "-w", "-DC10_USING_CUSTOM_GENERATED_MACROS", f"-I{package / 'include'}",
             f"-I{package / 'include/executorch/runtime/core/portable_type/c10'}", HERE / "upstream_bench.cpp", "-o", binary,
             f"-Wl,-rpath,{library}", f"-L{library}", "-Wl,--no-as-needed", *[f"-lexecutorch_{n}" for n in names], "-lexecutorch"],
            300,
        )  # fmt: skip
        return binary


def compiling(shop, archive, rounds):
    """Whole processes from start to file on disk, ours and upstream's lowering to XNNPACK, in turn: seconds, and peak resident bytes."""
    peak = "import resource, subprocess, sys, time; s = time.perf_counter(); subprocess.run(sys.argv[1:], stdout=2, check=True); print(time.perf_counter() - s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    found = {"fidibus": [], "upstream": []}
    for _ in range(rounds):
        for name, words in {
            "fidibus": [shop.fidibus, "compile", archive, "-o", archive.with_suffix(".compiling.pte")],
            "upstream": [shop.python("torch"), "-c", XNNPACK, archive, archive.with_suffix(".compiling.xnnpack")],
        }.items():
            seconds, peak_bytes = call([sys.executable, "-c", peak, *words], 900, timing=True).split()[-2:]
            found[name].append((float(seconds), int(peak_bytes)))
    return {name: {"seconds": min(f)[0], "peak_bytes": min(b for _, b in f)} for name, f in found.items()}


# ---- Timing --------------------------------------------------------------------------------------------------------------------


def summary(raw, path):
    times = sorted(raw["times_ms"])
    return {
        "load_ms": raw["load_ms"],
        "first_ms": raw["first_ms"],
        "min_ms": times[0],
        "median_ms": statistics.median(times),
        "rss_bytes": raw["rss_bytes"],
        "file_bytes": path.stat().st_size,
    }


def time_fidibus(shop, path, threads, seconds, inputs, least=5):
    words = [w for i in inputs for w in ("--input", i)]
    raw = json.loads(call([shop.fidibus, "bench", path, "--threads", threads, "--seconds", seconds, "--json", *words], 600, timing=True))
    return {k: raw[k] for k in ("load_ms", "first_ms", "min_ms", "median_ms", "file_bytes", "planned_bytes")} | {
        "rss_bytes": raw["peak_rss_bytes"] - raw["base_rss_bytes"]
    }


def time_upstream(shop, path, threads, seconds, inputs, least=5):
    runner = shop.upstream_runner()
    return summary(json.loads(call([runner, path, threads, seconds, least, *inputs], 900, timing=True)), path)


def time_worker(system, environment):
    def run(shop, path, threads, seconds, inputs, least=5):
        words = [shop.python(environment), HERE / "worker.py", system, path, threads, seconds, least, *inputs]
        return summary(json.loads(call(words, 900, timing=True).strip().splitlines()[-1]), path)

    return run


def roof_of(shop, path, threads, seconds, inputs):
    """Where our time goes, and what the machine would allow: `fidibus profile`, cut down to what the page shows."""
    words = [w for i in inputs for w in ("--input", i)]
    raw = json.loads(call([shop.fidibus, "profile", path, "--threads", threads, "--seconds", seconds, "--json", *words], 600, timing=True))
    total = raw["instructions_ms"]
    losses = [
        {"operator": o["operator"], "share": o["share"], "reached": o["least_ms"] / o["ms"] if o["ms"] else 0, "lost": (o["ms"] - o["least_ms"]) / total}
        for o in raw["operators"]
    ]
    return {
        "flops": sum(o["flops"] for o in raw["operators"]),
        "ms": total,
        "least_ms": sum(o["least_ms"] for o in raw["operators"]),
        "roof": raw["roof"],
        "losses": sorted(losses, key=lambda o: -o["lost"])[:4],
    }


def layer_of(shop, archive, threads, seconds, inputs, rounds):
    """A program that is one layer: its slowest instruction's time, arithmetic, traffic, and the share of the roof that it reaches. Layer and
    roof are measured in turn; the best of each counts, so that a noisy round makes neither look better."""
    path = archive.with_suffix(".fidibus.pte")
    call([shop.fidibus, "compile", archive, "-o", path], 300)
    words = [w for i in inputs for w in ("--input", i)]
    rows, roofs = [], []
    for _ in range(rounds):
        raw = json.loads(call([shop.fidibus, "profile", path, "--threads", threads, "--seconds", seconds, "--json", *words], 600, timing=True))
        rows.append(max(raw["calls"], key=lambda c: c["ms"]))
        roofs.append(raw["roof"])
    row, roof = min(rows, key=lambda r: r["ms"]), {key: max(r[key] for r in roofs) for key in ("flops_per_s", "near_bytes_per_s", "far_bytes_per_s")}
    s, arithmetic = row["ms"] / 1e3, row["flops"] / roof["flops_per_s"]
    memory = row["far_bytes"] / roof["far_bytes_per_s"] + (row["bytes"] - row["far_bytes"]) / roof["near_bytes_per_s"]
    return {
        "operator": row["operator"], "ms": row["ms"], "gflops": row["flops"] / s / 1e9, "gbytes": row["bytes"] / s / 1e9,
        "bound": "arithmetic" if arithmetic > memory else "memory", "reached": max(arithmetic, memory) / s,
    }  # fmt: skip


class System:
    """make(shop, archive, inputs) gives the file, time(shop, file, threads, seconds, inputs, least) the figures. Slow systems are
    measured in one round only and on one thread; those that are not `counted` take no part in "the fastest rival"."""

    def __init__(self, name, make, time, slow=False, counted=True):
        self.name, self.make, self.time, self.slow, self.counted = name, make, time, slow, counted


def make_ours(shop, archive, inputs):
    path = archive.with_suffix(".fidibus.pte")
    call([shop.fidibus, "compile", archive, "-o", path], 300)
    return path


def make_ours_bf16(shop, archive, inputs):
    path = archive.with_suffix(".bf16.pte")
    call([shop.fidibus, "compile", archive, "--precision", "bf16", "-o", path], 300)
    return path


def make_xnnpack(shop, archive, inputs):
    return shop.make(archive, ".xnnpack", "torch", XNNPACK)


SYSTEMS = [
    System("fidibus", make_ours, time_fidibus),
    System("xnnpack", make_xnnpack, time_upstream),
    System("onnxruntime", lambda s, a, i: s.make(a, ".onnx", "torch", ONNX), time_worker("onnxruntime", "peers")),
    System("openvino", lambda s, a, i: s.make(a, ".onnx", "torch", ONNX), time_worker("openvino", "peers")),
    System("litert", lambda s, a, i: s.make(a, ".litert", "litert", LITERT, i), time_worker("litert", "peers")),
    System("eager", lambda s, a, i: a, time_worker("eager", "torch"), slow=True),
    System("portable", lambda s, a, i: s.make(a, ".portable", "torch", PORTABLE), time_upstream, slow=True, counted=False),
    System("fidibus_xnnpack", make_xnnpack, time_fidibus, counted=False),
    System("fidibus_bf16", make_ours_bf16, time_fidibus, counted=False),
    System("openvino_bf16", lambda s, a, i: s.make(a, ".onnx", "torch", ONNX), time_worker("openvino_bf16", "peers"), counted=False),
]
DEFAULT_SYSTEMS = ["fidibus", "xnnpack", "onnxruntime", "openvino", "litert", "eager"]
RIVALS = ["xnnpack", "onnxruntime", "openvino", "litert", "eager"]
