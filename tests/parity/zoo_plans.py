"""The planner's and the compiler's figures over a zoo: planned bytes against the liveness bound and upstream's plan, time against upstream's.

Upstream's figures are recorded in zoo_upstream.json: whether its portable way is right, seconds of lowering, and planned bytes of programs
that are right, as far as they were lowered. The portable plan must not be larger than upstream's. The cpu plan may: that target computes
half floats in float32 and reads images channels-last, so such models are counted and named.
"""

import json
import pathlib
import statistics

from common import Failure

RECORDED = pathlib.Path(__file__).parent / "zoo_upstream.json"


def check_bound(program):
    planned, bound = program.report["planned_bytes"], program.report["liveness_bound_bytes"]
    if planned > 1.01 * bound and not program.report["plan_is_optimal"]:
        raise Failure(f"{planned} bytes planned, the liveness bound is {bound}")
    return planned / bound - 1 if bound else 0.0


def check_not_above(planned, upstream):
    if planned > upstream:
        raise Failure(f"{planned} bytes planned, upstream plans {upstream}")


class Plans:
    def __init__(self):
        self.recorded = json.loads(RECORDED.read_text())
        self.optimal, self.planned = {}, {}  # by target: whether each plan is optimal; bytes of ours and of upstream's
        self.above, self.ratios = [], []

    def check(self, entry, programs, tally):
        known = self.recorded.get(entry.name, {})
        for target, program in programs.items():
            tally.check(f"{target} plan within 1 % of the liveness bound or optimal", entry.name, lambda: check_bound(program))
            self.optimal.setdefault(target, []).append(program.report["plan_is_optimal"])
            if "planned_bytes" in known:
                ours = program.report["planned_bytes"]
                if target == "portable":
                    tally.check("portable plan not above upstream's", entry.name, lambda: check_not_above(ours, known["planned_bytes"]))
                elif ours > known["planned_bytes"]:
                    self.above.append(entry.name)
                self.planned.setdefault(target, []).append((ours, known["planned_bytes"]))
        if "seconds" in known and "cpu" in programs:
            self.ratios.append(known["seconds"] / programs["cpu"].seconds)

    def report(self):
        for target, optimal in self.optimal.items():
            print(f"zoo: {sum(optimal)} of {len(optimal)} {target} plans are optimal for certain")
        for target, pairs in self.planned.items():
            ours, upstream = map(sum, zip(*pairs))
            print(f"zoo: {target} plans take {ours / max(upstream, 1):.2f} of upstream's bytes, all of {len(pairs)} models together")
        if self.above:
            print(f"zoo: cpu plans above upstream's: {' '.join(self.above)}")
        if self.ratios:
            print(f"zoo: the compile command takes 1/{statistics.median(self.ratios):.0f} of upstream's recorded time in the median of {len(self.ratios)} models, 1/{min(self.ratios):.0f} at least")
