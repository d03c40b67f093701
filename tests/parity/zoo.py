"""Folders of exported models with recorded inputs and outputs: what fidibus makes of each.

An entry is a folder NAME with NAME.pt2, entry.json and case*/*.npy: the cases' files, dtypes and shapes, eager's own rounding, and whether
the cases are consecutive calls of one program (`stateful`). What is proven of them: zoo_proofs.py.
"""

import json
import resource
import shutil

import numpy as np

from common import Failure, command, compare

TARGETS = ("cpu", "portable", "xnnpack")
RELATIVE = {"float32": 1e-3, "float64": 1e-3, "float16": 2e-2, "bfloat16": 6e-2, "complex64": 1e-3}


class Entry:
    """One model of a zoo."""

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        described = json.loads((folder / "entry.json").read_text())
        self.cases, self.stateful, self.rounding = described["cases"], described["stateful"], described.get("rounding")
        self.archive = folder / f"{self.name}.pt2"

    def groups(self):
        """Lists of cases, each the calls of one loaded program in turn."""
        return [self.cases] if self.stateful else [[case] for case in self.cases]

    def check(self, outputs):
        """outputs: a list of arrays a case. Returns the largest error."""
        worst = 0.0
        for case, found in zip(self.cases, outputs, strict=True):
            if len(found) != len(case["outputs"]):
                raise Failure(f"{len(found)} outputs, expected {len(case['outputs'])}")
            for array, described in zip(found, case["outputs"]):
                if "file" in described:
                    worst = max(worst, compare_recorded(array, self.folder / described["file"], described["dtype"], self.rounding))
        return worst


def entries(zoo, only=()):
    for path in sorted(zoo.glob("*/entry.json")):
        if not only or path.parent.name in only:
            yield Entry(path.parent)


# ---- Comparing --------------------------------------------------------------------------------------------------------------


def widened(array, dtype):
    """bfloat16 is kept as its bits."""
    return (array.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else array


def compare_recorded(found, path, dtype, rounding):
    """Integers are equal; floats within the larger of a share of the RMS and twenty times eager's own rounding."""
    expected, found = widened(np.load(path), dtype), widened(found, dtype)
    if dtype not in RELATIVE:
        return compare(found, expected)
    if found.shape != expected.shape:
        raise Failure(f"shape {found.shape}, expected {expected.shape}")
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        raise Failure("other places are not finite")
    difference = np.abs(np.where(np.isfinite(b), a, 0) - np.where(np.isfinite(b), b, 0))
    rms = np.sqrt(np.mean(np.where(np.isfinite(b), b, 0) ** 2)) if b.size else 0.0
    limit = max(RELATIVE[dtype], 20 * (rounding or 0)) * rms + 1e-6
    if b.size and difference.max() > limit:
        raise Failure(f"differs by {difference.max() / max(rms, 1e-30):.1e} of the RMS")
    return float(difference.max() / max(rms, 1e-30)) if b.size else 0.0


# ---- Compiling and running here ------------------------------------------------------------------------------------------------


def processor_seconds():
    """Of commands that ended: what they take does not depend on what else the machine does."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Program:
    """An entry's program for a target, or why there is none; the compiler's report and the seconds that the command took."""

    def __init__(self, fidibus, entry, target, *words):
        self.path = fidibus.work / f"{entry.name}.{target}{''.join(words)}.pte"
        report = self.path.with_suffix(".json")
        start = processor_seconds()
        command(fidibus.path, "compile", entry.archive, "-o", self.path, "--target", target, "--report", report, *words)
        self.seconds = processor_seconds() - start
        self.report = json.loads(report.read_text())
        report.unlink()


def input_words(folder, described):
    return ["--input", folder / described["file"]] if "file" in described else ["--input", str(described["value"])]


def run_here(fidibus, entry, program):
    """The outputs of every case."""
    out, found = fidibus.work / "zoo_out", []
    for group in entry.groups():
        words = []
        for i, case in enumerate(group):
            words += (["--next"] if i else []) + [w for d in case["inputs"] for w in input_words(entry.folder, d)]
        shutil.rmtree(out, ignore_errors=True)
        command(fidibus.path, "run", program, *words, "--output-dir", out)
        for i in range(len(group)):
            place = out / f"call_{i}" if len(group) > 1 else out
            found.append([np.load(place / f"output_{j}.npy") for j in range(len(list(place.glob("output_*.npy"))))])
    return found


def is_refusal(failure):
    """Upstream's library has no kernel: the portable target says so when compiling, with all the reasons."""
    return "upstream's portable library has no kernel" in str(failure)


def check_entry(fidibus, entry, target):
    return entry.check(run_here(fidibus, entry, Program(fidibus, entry, target).path))


def check_same_bits(fidibus, entry, program, target):
    """With every tensor in memory of its own, nothing can overwrite anything."""
    apart = Program(fidibus, entry, target, "--no-reuse")
    for a, b in zip(run_here(fidibus, entry, program.path), run_here(fidibus, entry, apart.path), strict=True):
        if [x.tobytes() for x in a] != [x.tobytes() for x in b]:
            raise Failure("with and without reuse of memory the outputs differ")
    apart.path.unlink()
