"""The operator exam: samples of PyTorch's own operator database (OpInfo), compiled and run by fidibus.

    opinfo.py [--ops REGEX] [--dtypes float32,int64] [--max-samples 3] [--seed 0] [--target cpu|portable] [--json FILE]
    opinfo.py --samples DIR      samples that were exported before: DIR/manifest.jsonl, NAME.pt2, NAME.npz

Every sample is one call of one operator, exported with torch.export, compiled, run, and compared with eager PyTorch. Samples run in
worker processes, so that a crash or a hang counts against one sample. Prints the counts by group and status, and the failures by reason.
"""

import argparse
import collections
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import sys
import tempfile
import time

import fidibus
import opinfo_export
import torch

STATUSES = ["pass", "refused", "wrong", "run failed", "crash", "hang"]
GROUPS = ["general", "complex", "lapack"]
# Upstream ExecuTorch 1.5.1 on its portable way, all 9,432 samples of the default run: passed, samples.
UPSTREAM = {"general": (6542, 8873), "complex": (166, 399), "lapack": (20, 160), "all": (6728, 9432)}
SECONDS = 30  # for one sample, its export included


# ---- Comparing -----------------------------------------------------------------------------------------------------------------


def near(found, expected, rtol, atol):
    """Elementwise: within the tolerance, or the same infinity, or both NaN. Inputs are double precision."""
    finite = torch.isfinite(found) & torch.isfinite(expected)
    same = (found == expected) | (torch.isnan(found) & torch.isnan(expected))
    return torch.where(finite, (found - expected).abs() <= atol + rtol * expected.abs(), same)


def wide(tensor):
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def wrong_tensor(found, expected, ref, tolerance):
    """None, or why a tensor does not pass. A value may be near eager's, or near the one computed in double precision."""
    if not isinstance(found, torch.Tensor):
        return f"{type(found).__name__} for a tensor"
    if found.shape != expected.shape:
        return f"shape {list(found.shape)} for {list(expected.shape)}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype} for {expected.dtype}"
    if not (expected.is_floating_point() or expected.is_complex()):
        good = found == expected
    else:
        good = near(wide(found), wide(expected), *tolerance)
        if ref is not None:
            good |= torch.isfinite(ref) & near(wide(found), wide(ref), *tolerance)
    if bool(good.all()):
        return None
    bad = (~good).nonzero()
    at = tuple(bad[0].tolist())
    return f"{len(bad)} of {good.numel()} values, first {found[at].item():.9g} for {expected[at].item():.9g} at {list(at)}"


def wrong_number(found, expected):
    value, want = float(found), float(expected)
    good = value == want or (value != value and want != want) or abs(value - want) <= 1e-6 * abs(want)
    return None if good else f"number {value} for {want}"


def wrong_outputs(found, sample):
    """None, or what is wrong with the outputs."""
    if len(found) != len(sample.outputs):
        return f"{len(found)} outputs for {len(sample.outputs)}"
    for i, (value, want, ref, tolerance) in enumerate(zip(found, sample.outputs, sample.refs, sample.tolerances)):
        if isinstance(want, torch.Tensor):
            why = wrong_tensor(value, want, ref, tolerance)
        elif isinstance(value, (bool, int, float)):
            why = wrong_number(value, want)
        else:
            why = f"{type(value).__name__} for a number"
        if why:
            return f"output {i}: {why}"
    return None


def examine(sample, target, folder):
    """Compiles, runs, compares one sample; returns status and reason."""
    program = os.path.join(folder, "sample.pte")
    try:
        fidibus.compile(sample.archive, program, target)
    except fidibus.Error as error:
        return "refused", str(error)
    try:
        method = fidibus.Runtime.get().load_program(pathlib.Path(program).read_bytes()).load_method("forward")
        found = method.execute(sample.inputs)
    except (fidibus.Error, TypeError, ValueError) as error:
        return "run failed", str(error)
    why = wrong_outputs(found, sample)
    return ("wrong", why) if why else ("pass", "")


# ---- Samples that were exported before ------------------------------------------------------------------------------------


def tensor_of(array, dtype):
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def with_order(tensor, order):
    """The same values, laid out in memory with the dimensions in this order, outermost first."""
    if order == sorted(order):
        return tensor
    back = [order.index(d) for d in range(len(order))]
    return tensor.permute(order).contiguous().permute(back)


class RecordedJob:
    """Some lines of a manifest."""

    def __init__(self, folder, records):
        self.folder, self.records, self.name = folder, records, records[0]["op"]

    def samples(self, first):
        """(number, label, function that makes the sample) from number `first` on."""
        for k, record in enumerate(self.records):
            if k >= first:
                label = {"id": record["id"], "group": record["group"], "dtype": record["dtype"], "call": record["call"]}
                yield k, label, lambda record=record: self.load(record)

    def load(self, record):
        import numpy

        arrays = numpy.load(self.folder / f"{record['id']}.npz")
        inputs = [with_order(tensor_of(arrays[f"in{i}"], d["dtype"]), d["dim_order"]) for i, d in enumerate(record["inputs"])]
        outputs, refs, tolerances = [], [], []
        for i, described in enumerate(record["outputs"]):
            tensor = described["type"] == "tensor"
            outputs.append(tensor_of(arrays[f"out{i}"], described["dtype"]) if tensor else described["value"])
            refs.append(tensor_of(arrays[f"ref{i}"], described["dtype"]) if tensor and f"ref{i}" in arrays else None)
            tolerances.append((described["rtol"], described["atol"]) if tensor else None)
        return opinfo_export.Sample(record["id"], record["op"], record["dtype"], record["group"], record["call"],
                                    str(self.folder / f"{record['id']}.pt2"), inputs, outputs, refs, tolerances)


def recorded_jobs(folder, options):
    with open(folder / "manifest.jsonl") as lines:
        records = [r for r in map(json.loads, lines) if r["status"] == "ok"]
    name = lambda r: r["op"] + (f".{r['variant']}" if r["variant"] else "")
    wanted = [r for r in records if re.fullmatch(options.ops, name(r)) and (not options.dtypes or r["dtype"] in options.dtypes)]
    return [RecordedJob(folder, wanted[i : i + 40]) for i in range(0, len(wanted), 40)]


# ---- Workers ------------------------------------------------------------------------------------------------------------------


def work(jobs, target, pipe):
    """A child process: takes (job, first sample), tells what it begins and how it ended, until the pipe closes."""
    with tempfile.TemporaryDirectory(prefix="opinfo-") as folder:
        while (order := pipe.recv()) is not None:
            number, first = order
            for k, label, make in jobs[number].samples(first):
                pipe.send(("begin", k, label))
                sample = make(folder) if getattr(jobs[number], "exports", False) else make()
                if isinstance(sample, opinfo_export.Sample):
                    status, reason = examine(sample, target, folder)
                    pipe.send(("result", {**label, "group": sample.group, "call": sample.call, "status": status, "reason": reason}))
                else:  # not exported, and why
                    pipe.send(("result", {**label, "status": "skipped", "reason": sample}))
            pipe.send(("done", None, None))
        pipe.close()


class Worker:
    """The parent's side of one child."""

    def __init__(self, context, jobs, target):
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=work, args=(jobs, target, there), daemon=True)
        self.process.start()
        there.close()
        self.job, self.label, self.k, self.served = None, {}, -1, 0

    def give(self, order):
        self.job, self.k, self.label, self.since = order[0], order[1] - 1, {}, time.monotonic()
        self.served += 1
        self.pipe.send(order)

    def late(self):
        return self.job is not None and time.monotonic() - self.since > SECONDS

    def stop(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def dismiss(self):
        self.pipe.send(None)
        self.process.join(5)
        self.stop()


MOST_JOBS = 150  # after which a child is replaced: exporting leaves memory behind


class Exam:
    """Runs jobs in workers; calls `told` with each result."""

    def __init__(self, jobs, target, count, told):
        self.jobs, self.target, self.told = jobs, target, told
        self.context = multiprocessing.get_context("fork")
        self.queue = collections.deque((i, 0) for i in range(len(jobs)))
        self.workers = [self.hire() for _ in range(min(count, len(jobs)))]

    def hire(self):
        return Worker(self.context, self.jobs, self.target)

    def replace(self, worker, status, reason):
        """After a crash or a hang: the sample gets its verdict, the rest of the job goes on in a new child."""
        worker.stop()
        if worker.label:
            self.told({**worker.label, "status": status, "reason": reason})
        if worker.label or worker.k < 0:
            self.queue.appendleft((worker.job, worker.k + 1 if worker.label else worker.k + 2))
        self.workers[self.workers.index(worker)] = self.hire()

    def listen(self, worker):
        try:
            kind, *rest = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            return self.replace(worker, "crash", f"process ended with {worker.process.exitcode}")
        worker.since = time.monotonic()
        if kind == "begin":
            worker.k, worker.label = rest
        elif kind == "result":
            worker.label = {}
            self.told(rest[0])
        else:
            worker.job = None
            if worker.served >= MOST_JOBS:
                worker.dismiss()
                self.workers[self.workers.index(worker)] = self.hire()

    def run(self, until=None):
        """Until all is done, or the clock (time.monotonic) shows `until`."""
        while not (until and time.monotonic() > until):
            for worker in self.workers:
                if worker.job is None and self.queue:
                    worker.give(self.queue.popleft())
            busy = [w for w in self.workers if w.job is not None]
            if not busy:
                break
            ready = multiprocessing.connection.wait([w.pipe for w in busy], timeout=1)
            for worker in busy:
                if worker.pipe in ready:
                    self.listen(worker)
                elif worker.late():
                    self.replace(worker, "hang", f"no result after {SECONDS} s")
        for worker in self.workers:
            worker.dismiss() if worker.job is None else worker.stop()


# ---- Reporting ---------------------------------------------------------------------------------------------------------------


def kind_of(reason):
    """A reason without names, numbers and places, so that equal faults count together."""
    text = re.sub(r"^.*?\.pt[2e]: ", "", " ".join(reason.split()))
    text = re.sub(r" \(once, first .*?\.py:\d+.*\)$", "", text)
    text = re.sub(r"( '\w+')? at /[^ ]*\.py:\d+(: [^:]*)?", "", text)
    return re.sub(r"-?\d[\d.e+-]*", "N", text)[:150]


def share(passed, total):
    return f"{passed} of {total} ({100 * passed / total:.2f} %)" if total else "none"


def report(results, reasons=40):
    """Prints counts by group and status, then the commonest reasons."""
    graded = [r for r in results if r["status"] != "skipped"]
    print(f"{'group':9}" + "".join(f"{s:>11}" for s in ["samples", *STATUSES]) + "   passed    upstream")
    for group in [*GROUPS, "all"]:
        counts = collections.Counter(r["status"] for r in graded if group in (r["group"], "all"))
        total = sum(counts.values())
        if total:
            theirs = UPSTREAM[group]
            print(f"{group:9}{total:11}" + "".join(f"{counts[s]:11}" for s in STATUSES)
                  + f"  {100 * counts['pass'] / total:6.2f} %    {100 * theirs[0] / theirs[1]:.1f} %")
    skipped = len(results) - len(graded)
    if skipped:
        print(f"{skipped} samples were left out: they are random, or PyTorch does not export them")
    kinds = collections.Counter((r["status"], kind_of(r["reason"])) for r in graded if r["status"] != "pass")
    for (status, reason), count in kinds.most_common(reasons):
        print(f"{count:6} {status}: {reason}")
    return graded


def outcome(graded):
    """Passed and total outside lapack, and the number of crashes and hangs."""
    outside = [r for r in graded if r["group"] != "lapack"]
    passed = sum(r["status"] == "pass" for r in outside)
    return passed, len(outside), sum(r["status"] in ("crash", "hang") for r in graded)


def examine_all(jobs, options, until=None):
    torch.set_num_threads(1)
    results, started, shown = [], time.monotonic(), [0.0]

    def told(result):
        results.append(result)
        if options.verbose and result["status"] not in ("pass", "skipped"):
            print(f"{result['status']}: {result['id']}: {result['reason']}", flush=True)
        if sys.stderr.isatty() and time.monotonic() - shown[0] > 1:
            shown[0] = time.monotonic()
            print(f"\r{len(results)} samples, {shown[0] - started:.0f} s", end="", file=sys.stderr)

    Exam(jobs, options.target, options.workers, told).run(until)
    return results


def options_of(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=pathlib.Path, help="folder of exported samples, instead of exporting them here")
    parser.add_argument("--ops", default=".*", help="regular expression for whole names, variant included: 'nn.functional.pad.*'")
    parser.add_argument("--dtypes", type=lambda t: t.split(","), default=None, help="float32,int64,...")
    parser.add_argument("--max-samples", type=int, default=3, help="samples of each operator and dtype")
    parser.add_argument("--seed", default="0", help="any text; decides the values")
    parser.add_argument("--target", default="cpu", choices=["cpu", "portable"])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=pathlib.Path, help="write every result here")
    parser.add_argument("--verbose", action="store_true", help="print every failure when it happens")
    return parser.parse_args(words)


def main():
    options = options_of()
    if options.samples:
        jobs = recorded_jobs(options.samples, options)
    else:
        jobs = opinfo_export.jobs(options)
    results = examine_all(jobs, options)
    if options.json:
        options.json.write_text("".join(json.dumps(r) + "\n" for r in results))
    passed, total, crashes = outcome(report(results))
    print(f"outside lapack {share(passed, total)} pass, {crashes} crash or hang")
    sys.exit(0 if not crashes and passed >= 0.995 * total else 1)


if __name__ == "__main__":
    main()
