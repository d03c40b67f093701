"""Times one rival on one model in a process of its own: worker.py SYSTEM FILE THREADS SECONDS MIN-RUNS INPUT.npy...

Prints one JSON object: load_ms (file to ready, libraries already in memory), first_ms, times_ms (steady runs), rss_bytes (peak resident memory
beyond what Python and the libraries had taken before the load).
"""

import json
import sys
import time

import numpy as np


def status_bytes(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def forget_peak():
    """Peak resident memory counts anew from here."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


# Each system: imports, which are not load time, and then the function that loads a file for a number of threads. What that returns runs once.


def onnxruntime():
    import onnxruntime as ort

    def load(path, threads, arrays):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feed = {i.name: a for i, a in zip(session.get_inputs(), arrays)}
        return lambda: session.run(None, feed)

    return load


def openvino(precision="f32"):
    import openvino as ov

    def load(path, threads, arrays):
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
        request = ov.Core().compile_model(path, "CPU", settings).create_infer_request()
        feed = dict(enumerate(arrays))
        return lambda: request.infer(feed, share_inputs=True)

    return load


def litert():
    from ai_edge_litert.interpreter import Interpreter

    def load(path, threads, arrays):
        model = Interpreter(path, num_threads=threads)
        model.allocate_tensors()
        inputs = sorted(model.get_input_details(), key=lambda d: d["name"])
        outputs = [d["index"] for d in model.get_output_details()]
        feed = [(d["index"], a.astype(d["dtype"])) for d, a in zip(inputs, arrays)]

        def run():
            for index, array in feed:
                model.set_tensor(index, array)
            model.invoke()
            return [model.get_tensor(i) for i in outputs]

        return run

    return load


def eager():
    import torch

    def load(path, threads, arrays):
        torch.set_num_threads(threads)
        module = torch.export.load(path).module()
        tensors = [torch.from_numpy(a) for a in arrays]

        def run():
            with torch.inference_mode():
                return module(*tensors)

        return run

    return load


SYSTEMS = {"onnxruntime": onnxruntime, "openvino": openvino, "openvino_bf16": lambda: openvino("bf16"), "litert": litert, "eager": eager}


def main(system, path, threads, seconds, least, *inputs):
    load = SYSTEMS[system]()
    arrays = [np.load(f) for f in inputs]
    base = status_bytes("VmRSS")
    forget_peak()
    start = time.perf_counter()
    run = load(path, int(threads), arrays)
    loaded = time.perf_counter()
    run()
    first = time.perf_counter()
    times = []
    while len(times) < int(least) or time.perf_counter() - first < float(seconds):
        before = time.perf_counter()
        run()
        times.append((time.perf_counter() - before) * 1e3)
    rss = status_bytes("VmHWM") - base
    print(json.dumps({"load_ms": (loaded - start) * 1e3, "first_ms": (first - loaded) * 1e3, "times_ms": times, "rss_bytes": rss}))


if __name__ == "__main__":
    main(*sys.argv[1:])
