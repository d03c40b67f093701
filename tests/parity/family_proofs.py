"""The families of families.py, each exported, then held against eager as the models of a zoo are.

Families take an hour together. What holds is noted in the work folder with the digest of the command that it holds for, so a run that was
interrupted goes on where it was, and `--exports DIR` keeps the exported models for the next run.
"""

import hashlib
import json
import shutil

import families
from common import Failure
from zoo import Entry
from zoo_proofs import Tally, check_programs


class Notes:
    """Families that held with this command, in a file."""

    def __init__(self, path, command):
        self.path, self.digest = path, hashlib.sha256(command.read_bytes()).hexdigest()[:16]
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {note["name"]: note for note in map(json.loads, lines) if note["command"] == self.digest}

    def add(self, name, refused):
        self.known[name] = {"name": name, "command": self.digest, "refused": refused}
        with open(self.path, "a") as file:
            file.write(json.dumps(self.known[name]) + "\n")


def exported(name, exports):
    folder = exports / name
    if not (folder / "entry.json").exists():
        shutil.rmtree(folder, ignore_errors=True)  # of an export that was interrupted
        families.export(name, exports)
    return Entry(folder)


def check_family(fidibus, name, exports, tally, refused):
    """True: everything held."""
    found = []

    def export():
        try:
            found.append(exported(name, exports))
        except Exception as error:  # whatever the installed libraries cannot build or export
            raise Failure(f"{type(error).__name__}: {error}") from None

    if not tally.check("exports", name, export):
        return False
    before = len(tally.score.failed)
    for program in check_programs(fidibus, found[0], tally, refused).values():
        program.path.unlink()
    return len(tally.score.failed) == before


def check(score, fidibus, only, exports):
    """exports: the folder that keeps exported families; None: each is removed after its check."""
    notes, tally, refused = Notes(fidibus.work / "families.jsonl", fidibus.path), Tally(score, "family"), []
    folder, before = exports or fidibus.work / "families", 0
    for name in only or families.FAMILIES:
        if name in notes.known:
            before += 1
            refused += notes.known[name]["refused"]
            continue
        known = len(refused)
        if check_family(fidibus, name, folder, tally, refused):
            notes.add(name, refused[known:])
        if not exports:
            shutil.rmtree(folder / name, ignore_errors=True)
    tally.report()
    if before:
        print(f"family: {before} more held in earlier runs of the same command")
    print(f"family: {len(notes.known)} of {len(families.FAMILIES)} hold in everything")
    if refused:
        print(f"family: refused for the portable target: {' '.join(refused)}")
