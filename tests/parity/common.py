"""What every part of parity shares: running commands, comparing arrays, the fidibus command, and the count of what held."""

import shutil
import subprocess
import time

import numpy as np


class Failure(Exception):
    """A comparison that did not hold; its text says why."""


def command(*words, seconds=600):
    """Runs a command; its standard output, or Failure with its errors."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise Failure((done.stderr or done.stdout).strip()[-600:] or f"exit status {done.returncode}")
    return done.stdout


def compare(found, expected, rtol=1e-4, atol=1e-5):
    """atol is a share of the output's scale. NaN equals NaN; integers and bools are equal."""
    if found.shape != expected.shape:
        raise Failure(f"shape {found.shape}, expected {expected.shape}")
    if expected.dtype.kind in "biu":
        if not np.array_equal(found, expected):
            raise Failure(f"{np.count_nonzero(found != expected)} of {expected.size} integers differ")
        return 0.0
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = b[np.isfinite(b)]
    scale = np.abs(finite).max() if finite.size else 1.0
    bad = ~np.isclose(a, b, rtol=rtol, atol=atol * max(scale, 1e-30), equal_nan=True)
    error = np.nanmax(np.abs(np.where(np.isfinite(a - b), a - b, 0))) / max(scale, 1e-30) if b.size else 0.0
    if bad.any():
        raise Failure(f"{np.count_nonzero(bad)} of {b.size} values differ, by {error:.1e} of the scale")
    return error


class Fidibus:
    """The command and a folder to work in."""

    def __init__(self, path, work):
        self.path, self.work = path, work

    def compile(self, archive, target="cpu", name=None):
        program = self.work / f"{name or archive.stem}.{target}.pte"
        command(self.path, "compile", archive, "-o", program, "--target", target)
        return program

    def run(self, program, inputs, threads=1):
        """inputs: .npy paths or numbers as text. Returns the outputs in order."""
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        words = [w for i in inputs for w in ("--input", i)]
        command(self.path, "run", program, *words, "--output-dir", out, "--threads", threads)
        return [np.load(out / f"output_{i}.npy") for i in range(len(list(out.glob("output_*.npy"))))]


class Score:
    """Counts and prints one line a check."""

    def __init__(self):
        self.passed, self.failed = 0, []

    def check(self, name, body):
        start = time.perf_counter()
        try:
            error = body()
        except (Failure, subprocess.TimeoutExpired, OSError, ValueError) as failure:
            self.failed.append(name)
            print(f"FAIL {name}: {failure}", flush=True)
            return False
        self.passed += 1
        note = f"  error {error:.1e}" if isinstance(error, float) else ""
        print(f"ok   {name}{note}  ({time.perf_counter() - start:.1f} s)", flush=True)
        return True
