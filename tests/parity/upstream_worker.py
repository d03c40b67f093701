"""Upstream's exporter and runtime in a process that lasts: a job a line comes in as JSON, an answer a line goes out.

Importing upstream takes longer than most jobs, and what crashes there must not end the comparison: parity's side is upstream.py.
Jobs: {"lower": archive, "to": program} and {"run": program, "calls": [[input...]...], "to": folder}.
"""

import json
import os
import sys
import time

import numpy as np
import torch


def planned_bytes(manager):
    return sum(manager.executorch_program.execution_plan[0].non_const_buffer_sizes)


def lower(job):
    """The portable way. Archives with operators outside the core set are tried again without upstream's check for it."""
    from executorch.exir import EdgeCompileConfig, to_edge

    for check in (True, False):
        exported = torch.export.load(job["lower"])
        start = time.perf_counter()
        try:
            manager = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=check)).to_executorch()
        except Exception:
            if not check:
                raise
            continue
        seconds = time.perf_counter() - start
        with open(job["to"], "wb") as file:
            file.write(manager.buffer)
        return {"seconds": seconds, "planned_bytes": planned_bytes(manager), "checked": check}


def tensor(described):
    if "value" in described:
        return described["value"]
    loaded = torch.from_numpy(np.load(described["file"]))
    value = torch.empty(loaded.shape, dtype=loaded.dtype).copy_(loaded)  # strides as PyTorch has them where a size is 0
    if described["dtype"] == "bfloat16":
        value = value.view(torch.bfloat16)
    if described.get("layout") == "channels_last":
        value = value.to(memory_format=torch.channels_last)
    return value


def array(value):
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    value = value.contiguous()
    return (value.view(torch.uint16) if value.dtype == torch.bfloat16 else value).numpy()


def run(job):
    """Calls one method in turn; output j of call i goes to FOLDER/call_i.j.npy."""
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(job["run"]).load_method("forward")
    counts = []
    for i, call in enumerate(job["calls"]):
        outputs = method.execute([tensor(d) for d in call])
        for j, value in enumerate(outputs):
            np.save(f"{job['to']}/call_{i}.{j}.npy", array(value))
        counts.append(len(outputs))
    return {"outputs": counts}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # upstream prints
    torch.set_num_threads(1)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = lower(job) if "lower" in job else run(job)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
