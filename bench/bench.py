"""Times fidibus and its rivals in one interleaved run: `./run bench [--models NAME...] [--rounds N] [--threads N...]`.

Compiling: whole processes, from start to file on disk, ours and upstream's lowering to XNNPACK, with peak memory.
Running: one process a measurement; rounds go over the systems in turn, so that a noisy minute hits all of them; the figure is the
minimum over all rounds. Ratios above 1 mean that the rival is slower. Results also go to WORK/bench.json.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "parity"))

DEFAULT_MODELS = ["mobilenet_v2", "mobilenet_v3_small", "efficientnet_lite0", "resnet50", "minilm", "lstm", "conformer_block"]


def whole_process(words):
    """Seconds, peak resident bytes and standard output of a command."""
    start = time.perf_counter()
    child = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = child.communicate()
    seconds = time.perf_counter() - start
    if child.returncode:
        raise RuntimeError(f"{words[0]}: {err.strip()[-500:]}")
    return seconds, out


def peak_bytes(words):
    """Peak resident bytes of one run of a command, by a process of its own that waits for it."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    done = subprocess.run([sys.executable, "-c", code, *[str(w) for w in words]], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


# ---- The rivals, each in a process of its own ------------------------------------------------------------------------------

LOWER_XNNPACK = """
import sys, torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
edge = to_edge_transform_and_lower(torch.export.load(sys.argv[1]), partitioner=[XnnpackPartitioner()])
open(sys.argv[2], "wb").write(edge.to_executorch().buffer)
"""

EXPORT_ONNX = """
import sys, torch
program = torch.export.load(sys.argv[1])
torch.onnx.export(program, (), sys.argv[2], dynamo=True, external_data=False, verbose=False)
"""

TIME_LOOP = """
import time
def steady(run, seconds):
    run()
    best, end = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter(); run(); best = min(best, time.perf_counter() - start)
    print("min_ms", best * 1e3)
"""

RUN_XNNPACK = (
    TIME_LOOP
    + """
import sys, numpy as np, torch
program, threads, seconds, *inputs = sys.argv[1:]
from executorch.extension.pybindings.portable_lib import _load_for_executorch, _unsafe_reset_threadpool
_unsafe_reset_threadpool(int(threads))
module = _load_for_executorch(program)
tensors = [torch.from_numpy(np.load(f)) for f in inputs]
steady(lambda: module.forward(tensors), float(seconds))
"""
)

RUN_ONNX = (
    TIME_LOOP
    + """
import sys, numpy as np, onnxruntime
model, threads, seconds, *inputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feed = {i.name: np.load(f) for i, f in zip(session.get_inputs(), inputs)}
steady(lambda: session.run(None, feed), float(seconds))
"""
)

RUN_EAGER = (
    TIME_LOOP
    + """
import sys, numpy as np, torch
archive, threads, seconds, *inputs = sys.argv[1:]
torch.set_num_threads(int(threads))
module = torch.export.load(archive).module()
tensors = [torch.from_numpy(np.load(f)) for f in inputs]
with torch.no_grad():
    steady(lambda: module(*tensors), float(seconds))
"""
)


class Rival:
    """A system: how its file is made from an archive, and the script that times it."""

    def __init__(self, name, make, run):
        self.name, self.make, self.run = name, make, run

    def file(self, archive):
        path = archive.with_suffix(f".{self.name}")
        if self.make is None:
            return archive
        if not path.exists():
            whole_process([sys.executable, "-c", self.make, archive, path])
        return path

    def min_ms(self, archive, threads, seconds, inputs):
        _, out = whole_process([sys.executable, "-c", self.run, self.file(archive), threads, seconds, *inputs])
        return float(out.split("min_ms")[1])


RIVALS = [Rival("xnnpack", LOWER_XNNPACK, RUN_XNNPACK), Rival("onnxruntime", EXPORT_ONNX, RUN_ONNX), Rival("eager", None, RUN_EAGER)]


# ---- Measurements -----------------------------------------------------------------------------------------------------------


def bench_compile(fidibus, archive, rounds):
    """Ours and upstream's, in turn; minima."""
    ours, theirs = [], []
    program, other = archive.with_suffix(".bench.pte"), archive.with_suffix(".lowered")
    for i in range(rounds):
        ours += [whole_process([fidibus, "compile", archive, "-o", program])[0] for _ in range(5)]
        theirs.append(whole_process([sys.executable, "-c", LOWER_XNNPACK, archive, other])[0])
    return {
        "model": archive.stem,
        "fidibus_s": min(ours),
        "upstream_s": min(theirs),
        "ratio": min(theirs) / min(ours),
        "fidibus_peak_bytes": peak_bytes([fidibus, "compile", archive, "-o", program]),
        "upstream_peak_bytes": peak_bytes([sys.executable, "-c", LOWER_XNNPACK, archive, other]),
        "archive_bytes": archive.stat().st_size,
    }


def bench_run(fidibus, archive, inputs, threads, rounds, seconds, rivals):
    program = archive.with_suffix(".bench.pte")
    whole_process([fidibus, "compile", archive, "-o", program])
    words = [w for i in inputs for w in ("--input", i)]
    best, details = {}, {}
    for _ in range(rounds):
        _, out = whole_process([fidibus, "bench", program, "--threads", threads, "--json", *words])
        ours = json.loads(out)
        if ours["min_ms"] <= best.get("fidibus", 1e9):
            details = ours
        best["fidibus"] = min(best.get("fidibus", 1e9), ours["min_ms"])
        for rival in rivals:
            try:
                best[rival.name] = min(best.get(rival.name, 1e9), rival.min_ms(archive, threads, seconds, inputs))
            except RuntimeError as error:
                print(f"  {rival.name}: {str(error)[-200:]}", file=sys.stderr)
    return {"model": archive.stem, "threads": threads, "min_ms": best, "fidibus": details}


def print_run(result):
    ours = result["min_ms"]["fidibus"]
    ratios = "  ".join(f"{n} {ms:.2f} ms ({ms / ours:.2f})" for n, ms in result["min_ms"].items() if n != "fidibus")
    print(f"{result['model']:22} {result['threads']} thread{'s' if result['threads'] > 1 else ' '}  fidibus {ours:.2f} ms   {ratios}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__.splitlines()[0])
    parser.add_argument("--fidibus", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--work", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--models", nargs="*", default=DEFAULT_MODELS)
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of steady runs in one measurement of a rival")
    parser.add_argument("--rivals", nargs="*", default=[r.name for r in RIVALS])
    parser.add_argument("--no-compile", action="store_true", help="leave out compile time and memory")
    options = parser.parse_args()
    import parity

    options.work.mkdir(parents=True, exist_ok=True)
    fidibus, results = options.fidibus.resolve(), {"compile": [], "run": []}
    import models

    rivals = [r for r in RIVALS if r.name in options.rivals]
    for name in options.models:
        archive, inputs, _, _ = parity.prepare(models.build, name, options.work.resolve())
        if name == "mobilenet_v2" and not options.no_compile:
            c = bench_compile(fidibus, archive, options.rounds)
            results["compile"].append(c)
            print(
                f"compiling {name}: fidibus {c['fidibus_s'] * 1e3:.0f} ms, upstream to XNNPACK {c['upstream_s']:.1f} s, {c['ratio']:.0f} times; "
                f"peak memory {c['fidibus_peak_bytes'] / c['archive_bytes']:.2f} times the archive, upstream {c['upstream_peak_bytes'] / 1e6:.0f} MB"
            )
        for threads in options.threads:
            results["run"].append(bench_run(fidibus, archive, inputs, threads, options.rounds, options.seconds, rivals))
            print_run(results["run"][-1])
    path = options.work / "bench.json"
    path.write_text(json.dumps(results, indent=1))
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
