"""Runs upstream's own XNNPACK tests with the step that runs the serialized program given to fidibus:

    python xnnpack.py FIDIBUS [MODULE...] [--seconds N]

Needs upstream's wheel, which carries the tests. Modules are those of executorch/backends/xnnpack/test/ops (test_add, ...); none means
all. A test that fails is run again with upstream's runtime: only what passes there counts against us. Ends with a line
"N passed, N failed, N fail upstream too".
"""
import argparse
import importlib
import pathlib
import pkgutil
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import torch
from executorch.backends.test.harness.stages.serialize import Serialize
from torch.utils._pytree import tree_flatten

PACKAGE = "executorch.backends.xnnpack.test.ops"


class Timeout(Exception):
    """A test took longer than it may."""


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


def run_test(test, seconds):
    """None, or why it failed; skipped tests pass."""

    def stop(*_):
        raise Timeout(f"took longer than {seconds} s")

    result = unittest.TestResult()
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        test(result)
    except Timeout as error:
        return str(error)
    finally:
        signal.alarm(0)
    broken = result.errors + result.failures
    return broken[0][1] if broken else None


def tests_of(module):
    def walk(suite):
        for item in suite:
            yield from walk(item) if isinstance(item, unittest.TestSuite) else [item]

    try:
        loaded = importlib.import_module(f"{PACKAGE}.{module}")
    except Exception as error:
        print(f"{module}: cannot be imported: {error}")
        return []
    return list(walk(unittest.defaultTestLoader.loadTestsFromModule(loaded)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fidibus")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    folder = [str(pathlib.Path(p) / "ops") for p in importlib.import_module("executorch.backends.xnnpack.test").__path__]
    modules = options.modules or sorted(m.name for m in pkgutil.iter_modules(folder) if m.name.startswith("test_"))
    upstream = Serialize.run_artifact
    counts = {"passed": 0, "failed": 0, "upstream": 0}
    for module in modules:
        for test in tests_of(module):
            Serialize.run_artifact = lambda self, inputs: run_fidibus(options.fidibus, self.buffer, inputs)
            ours = run_test(test, options.seconds)
            if ours is None:
                counts["passed"] += 1
                continue
            Serialize.run_artifact = upstream
            theirs = run_test(test, options.seconds)
            counts["failed" if theirs is None else "upstream"] += 1
            print(f"{'FAILED' if theirs is None else 'fails upstream too'}: {test.id().removeprefix(PACKAGE + '.')}: {ours.strip().splitlines()[-1][:300]}", flush=True)
        print(f"{module}: {counts['passed']} passed, {counts['failed']} failed, {counts['upstream']} fail upstream too, so far", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['upstream']} fail upstream too")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
