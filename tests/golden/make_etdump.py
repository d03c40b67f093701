"""Writes delegated.etdp with upstream's own serializer (executorch 1.5): python make_etdump.py."""

import pathlib

from executorch.devtools.etdump.schema_flatcc import AllocationEvent, Allocator, DebugEvent, ETDumpFlatCC, Event, Int, ProfileEvent, RunData, Value
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc


def profile(name, instruction, start, end, delegate=-1):
    part = "part" if delegate >= 0 else ""
    return Event(ProfileEvent(name, 0, instruction, delegate, part, b"", start, end), None, None)


value = Value("Int", None, None, Int(5), None, None, None, None)
runs = [
    RunData("Default", -1, [Allocator("planned")], [profile("Method::init", -1, 10, 20), profile("Program::load_method", -1, 5, 30)]),
    RunData(
        "Execute",
        4,
        [],
        [
            profile("native_call_add.out", 3, 100, 150),
            Event(None, AllocationEvent(0, 4096), None),
            Event(None, None, DebugEvent("add", 0, 3, -1, "", value)),
            profile("Convolution", 4, 160, 190, 17),
            profile("Method::execute", -1, 90, 200),
        ],
    ),
]
data = serialize_to_etdump_flatcc(ETDumpFlatCC(0, runs))
# The serializer leaves out the size prefix, which the runtime writes.
(pathlib.Path(__file__).parent / "delegated.etdp").write_bytes(data)


def run_and_trace():
    """measured.etdp: upstream's runtime traces one run of "twice" in sums.pte."""
    import torch
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(pathlib.Path(__file__).parent / "sums.pte", enable_etdump=True)
    method = program.load_method("twice")
    sizes = [method.metadata.input_tensor_meta(i).sizes() for i in range(method.metadata.num_inputs())]
    method.execute([torch.zeros(tuple(s)) for s in sizes])
    program.write_etdump_result_to_file(str(pathlib.Path(__file__).parent / "measured.etdp"), "/dev/null")


run_and_trace()
