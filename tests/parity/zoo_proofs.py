"""All that is proven of a zoo of exported models, for all targets: the outputs against the recorded ones, the same bits from a program in
which no tensor's memory is used again, plans and time (zoo_plans.py), programs exchanged with upstream (zoo_upstream.py). Ends with how
many models of how many hold, a line a proof.
"""

import zoo_plans
import zoo_upstream
from common import Failure
from zoo import TARGETS, Program, check_same_bits, entries, is_refusal, run_here


class Tally:
    """How many of how many, by proof; prints a line each at the end."""

    def __init__(self, score, label):
        self.score, self.label, self.counts = score, label, {}

    def check(self, proof, name, body):
        held, total = self.counts.get(proof, (0, 0))
        good = self.score.check(f"{self.label} {name}: {proof}", body)
        self.counts[proof] = held + good, total + 1
        return good

    def report(self):
        for proof, (held, total) in self.counts.items():
            print(f"{self.label}: {held} of {total}: {proof}")


def compile_target(fidibus, entry, target, tally, refused):
    """The program, or None: what upstream has no kernel for is refused for its targets, and counted apart."""
    found = []

    def body():
        try:
            found.append(Program(fidibus, entry, target))
        except Failure as failure:
            if target == "cpu" or not is_refusal(failure):
                raise
            if entry.name not in refused:
                refused.append(entry.name)

    tally.check(f"{target} compiles, or is refused where upstream has no kernel", entry.name, body)
    return found[0] if found else None


def check_programs(fidibus, entry, tally, refused):
    """Returns the programs by target."""
    programs = {}
    for target in TARGETS:
        program = compile_target(fidibus, entry, target, tally, refused)
        if not program:
            continue
        programs[target] = program
        tally.check(f"{target} against eager", entry.name, lambda: entry.check(run_here(fidibus, entry, program.path)))
        tally.check(f"{target} without reuse of memory, the same bits", entry.name, lambda: check_same_bits(fidibus, entry, program, target))
    return programs


def check(score, fidibus, zoo, only, upstream):
    """All proofs over the models of a folder; upstream: its own programs and its runtime too."""
    tally, refused, plans = Tally(score, "zoo"), [], zoo_plans.Plans()
    with zoo_upstream.Exchange(fidibus, upstream) as exchange:
        for entry in entries(zoo, only):
            programs = check_programs(fidibus, entry, tally, refused)
            plans.check(entry, programs, tally)
            exchange.check(entry, programs, tally)
            for program in programs.values():
                program.path.unlink()
    tally.report()
    if refused:
        print(f"zoo: refused for upstream's targets: {' '.join(refused)}")
    plans.report()
    exchange.report()
