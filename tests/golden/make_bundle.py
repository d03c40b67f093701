"""Makes bundled.bpte with upstream's developer tools (executorch 1.5): python make_bundle.py

A method with a tensor and two numbers, and two cases of it: what format/bpte_test.c and tests/cli_test.c read.
"""
import pathlib

import torch
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import to_edge
from torch.export import export


class Shift(torch.nn.Module):
    def forward(self, x, by: int, factor: float):
        return x * factor + by, x - 1


model = Shift()
samples = [torch.arange(6.0).reshape(2, 3), torch.full((2, 3), -0.5)]
program = to_edge(export(model, (samples[0], 3, 0.5))).to_executorch()
cases = [MethodTestCase(inputs=(x, 3, 0.5), expected_outputs=model(x, 3, 0.5)) for x in samples]
bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
pathlib.Path(__file__).with_name("bundled.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
