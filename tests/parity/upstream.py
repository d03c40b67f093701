"""Upstream's exporter and runtime, each job in a worker process (upstream_worker.py) that is started again when it dies or hangs."""

import json
import pathlib
import select
import subprocess
import sys

WORKER = pathlib.Path(__file__).parent / "upstream_worker.py"


class Upstream:
    """Use as a context: `with Upstream(log) as upstream: upstream.lower(archive, program)`."""

    def __init__(self, log):
        self.log, self.process = log, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def start(self):
        errors = open(self.log, "a")
        words = [sys.executable, "-W", "ignore", str(WORKER)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)

    def ask(self, job, seconds=300):
        """The worker's answer; {"error": why} also when it died or took too long."""
        if not self.process:
            self.start()
        self.process.stdin.write(json.dumps(job, default=str) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        status = self.process.wait(10) if ready else None
        self.stop()
        return {"error": f"upstream's process ended with status {status}" if ready else f"upstream took over {seconds} s"}

    def lower(self, archive, program):
        """Lowers once; the answer lies beside the program."""
        note = program.with_suffix(".json")
        if not note.exists():
            note.write_text(json.dumps(self.ask({"lower": archive, "to": program})))
        return json.loads(note.read_text())

    def run(self, program, calls, folder):
        return self.ask({"run": program, "calls": calls, "to": folder})
