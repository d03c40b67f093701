"""Runs upstream's own XNNPACK tests with the step that runs the serialized program given to fidibus:

    python xnnpack.py FIDIBUS [--only TEXT] [--seconds N] [ops] [suite] [models]

Needs upstream's wheel, which carries the tests, and pytest. `ops` are the tests of executorch/backends/xnnpack/test/ops, `suite` the XNNPACK
flows (float32, dynamic and static int8) of executorch/backends/test/suite over operators, `models` the same over whole models, which
take hours. Without a name: ops and suite. A test that fails is run again with upstream's runtime: only what passes there counts against us.
Prints a line a file, and at the end how many pass here and in upstream's runtime.
"""

import argparse
import collections
import contextlib
import importlib
import io
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import torch
from executorch.backends.test.harness.stages.serialize import Serialize
from torch.utils._pytree import tree_flatten

UPSTREAM = Serialize.run_artifact


def package(name):
    return pathlib.Path(next(iter(importlib.import_module(name).__path__)))


# Folder with the tests, and which of them: the suite's are run once for each flow of each backend.
SETS = {
    "ops": lambda: (package("executorch.backends.xnnpack.test") / "ops", []),
    "suite": lambda: (package("executorch.backends.test.suite") / "operators", ["-m", "backend_xnnpack"]),
    "models": lambda: (package("executorch.backends.test.suite") / "models", ["-m", "backend_xnnpack"]),
}


# ---- A program in fidibus ------------------------------------------------------------------------------------------------------


def to_array(value):
    if not isinstance(value, torch.Tensor):
        return None
    value = value.detach().contiguous()
    return value.view(torch.int16).numpy().view(np.uint16) if value.dtype == torch.bfloat16 else value.numpy()


def from_array(array):
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if array.dtype == np.uint16 else torch.from_numpy(array)


def run_fidibus(command, program, inputs):
    """The outputs of one call of `forward`, in the order of the program."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "m.pte").write_bytes(program)
        words = [command, "run", folder / "m.pte", "--output-dir", folder / "out"]
        for i, value in enumerate(tree_flatten(inputs)[0]):
            array = to_array(value)
            if array is not None:
                np.save(folder / f"{i}.npy", array)
            words += ["--input", folder / f"{i}.npy" if array is not None else str(value)]
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-500:])
        count = len(list((folder / "out").glob("output_*.npy")))
        return [from_array(np.load(folder / "out" / f"output_{i}.npy")) for i in range(count)]


# ---- Running tests --------------------------------------------------------------------------------------------------------------


class Plugin:
    """Ends tests that take too long, and keeps what each came to: passed, skipped, or why it failed."""

    def __init__(self, seconds):
        self.seconds, self.results = seconds, {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        def stop(*_):
            raise TimeoutError(f"took longer than {self.seconds} s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(self.seconds)
        yield
        signal.alarm(0)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            crash = getattr(report.longrepr, "reprcrash", None)
            cause = crash.message if crash else str(report.longrepr).strip().splitlines()[-1] if report.failed else ""
            self.results[report.nodeid] = ("failed", cause) if report.failed else (report.outcome, "")


def run_tests(words, seconds, run_artifact):
    """What each test came to, by its name, with the serialized program run by `run_artifact`."""
    Serialize.run_artifact = run_artifact
    plugin = Plugin(seconds)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        suite = package("executorch.backends.test.suite")  # where the fixtures are
        pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", f"--confcutdir={suite}", *map(str, words)], plugins=[plugin])
    return plugin.results


def report(name, counts):
    print(f"{name}: {counts['passed']} here, {counts['passed'] + counts['failed']} in upstream's runtime, {counts['both']} in neither", flush=True)


def check_file(file, options, chosen):
    """Counts of one file: passed here, failed here only, failed in both."""
    select = [*chosen, "-k", options.only] if options.only else chosen
    here = run_tests([file, *select], options.seconds, lambda self, inputs: run_fidibus(options.fidibus, self.buffer, inputs))
    failed = [name for name, (outcome, _) in here.items() if outcome == "failed"]
    there = run_tests([file, *select], options.seconds, UPSTREAM) if failed else {}
    counts = collections.Counter(passed=sum(outcome == "passed" for outcome, _ in here.values()))
    for name in failed:
        own = there.get(name, ("failed", ""))[0] != "passed"
        counts["both" if own else "failed"] += 1
        print(f"{'fails upstream too' if own else 'FAILED'}: {name.split('/')[-1]}: {here[name][1][:300]}".replace("\n", " "), flush=True)
    if here:
        report(file.name, counts)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fidibus")
    parser.add_argument("sets", nargs="*", default=["ops", "suite"], help=f"of {', '.join(SETS)}")
    parser.add_argument("--only", help="tests with this in their names, as pytest's -k takes it")
    parser.add_argument("--seconds", type=int, default=300, help="for one test")
    options = parser.parse_args()
    total = collections.Counter()
    for name in options.sets:
        folder, chosen = SETS[name]()
        found = sum((check_file(file, options, chosen) for file in sorted(folder.glob("test_*.py"))), collections.Counter())
        report(name, found)
        total += found
    print(f"{total['passed']} passed, {total['failed']} failed, {total['both']} fail upstream too")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
