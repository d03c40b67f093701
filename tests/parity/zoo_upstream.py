"""Programs of a zoo exchanged with upstream: its portable programs run here, and our portable and xnnpack programs run in its runtime.

Upstream's programs are kept in the work folder, so an interrupted run goes on where it was.
"""

import json
import pathlib

import numpy as np

from common import Failure
from upstream import Upstream
from zoo import run_here

RECORDED = pathlib.Path(__file__).parent / "zoo_upstream.json"


def run_there(upstream, entry, program, folder):
    """The outputs of every case, in upstream's runtime."""
    found = []
    for group in entry.groups():
        calls = [[{**d, "file": str(entry.folder / d["file"])} if "file" in d else d for d in case["inputs"]] for case in group]
        answer = upstream.run(program, calls, folder)
        if "error" in answer:
            raise Failure(answer["error"])
        found += [[np.load(folder / f"call_{i}.{j}.npy") for j in range(count)] for i, count in enumerate(answer["outputs"])]
    return found


class Exchange:
    """Use as a context. Without upstream nothing is exchanged."""

    def __init__(self, fidibus, wanted):
        self.fidibus, self.recorded = fidibus, json.loads(RECORDED.read_text())
        self.folder = fidibus.work / "upstream"
        self.folder.mkdir(exist_ok=True)
        self.upstream = Upstream(self.folder / "upstream.log") if wanted else None
        self.right, self.names = [], []  # upstream's own programs in upstream's own runtime
        self.faulty = []  # those whose outputs or error are wrong in both runtimes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.upstream:
            self.upstream.stop()

    def check(self, entry, programs, tally):
        self.names.append(entry.name)
        if not self.upstream:
            return
        for target in ("portable", "xnnpack"):
            if target in programs:
                self.check_ours(entry, target, programs[target].path, tally)
        program = self.folder / f"{entry.name}.pte"
        if "error" not in self.upstream.lower(entry.archive, program):
            self.check_theirs(entry, program, tally)

    def check_ours(self, entry, target, program, tally):
        tally.check(f"{target} in upstream's runtime", entry.name, lambda: entry.check(run_there(self.upstream, entry, program, self.folder)))

    def check_theirs(self, entry, program, tally):
        """Upstream's program here is right, or does what it does there: some are wrong by themselves, or end in an error."""
        try:
            there = run_there(self.upstream, entry, program, self.folder)
        except Failure:
            there = None
        try:
            entry.check(there or [])
            self.right.append(entry.name)
        except (Failure, ValueError):
            pass

        def body():
            here = None
            try:
                here = run_here(self.fidibus, entry, program)
                return entry.check(here)
            except Failure:
                if not same_outputs(here, there):
                    raise
                self.faulty.append(entry.name)

        tally.check("upstream's program here", entry.name, body)

    def report(self):
        recorded = [n for n in self.names if self.recorded.get(n, {}).get("right")]
        print(f"zoo: upstream's portable way, as recorded: right on {len(recorded)} of {len(self.names)}")
        if self.upstream:
            print(f"zoo: upstream's programs in upstream's runtime, in this run: right on {len(self.right)} of {len(self.names)}")
            print(f"zoo: upstream's programs that are wrong or end in an error in both runtimes: {' '.join(self.faulty) or 'none'}")


def same_outputs(here, there):
    """None stands for a call that ended in an error."""
    if here is None or there is None:
        return here is there
    return all(close(a, b) for x, y in zip(here, there, strict=True) for a, b in zip(x, y, strict=True))


def close(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)
