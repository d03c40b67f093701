"""Makes the golden programs with XNNPACK delegates, with upstream's partitioner and quantizer: python make_xnnpack.py

Float programs are compared with PyTorch; quantized ones with upstream's own runtime, since both round to the same grid.
"""
import torch
from executorch.backends.xnnpack.partition.config.xnnpack_config import ConfigPrecisionType
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torch.export import Dim, export
from torch.nn import functional as F
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from make_golden import HERE, line


class Image(torch.nn.Module):
    """Convolutions of every kind, pools, a resize, and what stands between."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.multiplied = torch.nn.Conv2d(8, 16, 3, padding=2, dilation=2, groups=8)
        self.grouped = torch.nn.Conv2d(16, 8, 1, groups=2)
        self.up = torch.nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.slope = torch.nn.PReLU(8)

    def forward(self, x):
        x = F.relu6(self.first(x))
        y = F.hardswish(self.depthwise(x)) + x
        y = self.slope(self.grouped(self.multiplied(y)))
        y = torch.cat([F.max_pool2d(y, 3, 2, ceil_mode=True), F.avg_pool2d(y, 2)], dim=1)
        y = F.interpolate(y[:, 2:10], size=(3, 5), mode="bilinear", align_corners=False)
        return self.up(y), y.mean((2, 3), keepdim=True), F.pad(y, (1, 0, 0, 2), value=0.5)


class Vectors(torch.nn.Module):
    """Products and element-wise nodes, with a batch of any size."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 10), torch.nn.Linear(10, 6)

    def forward(self, x):
        y = self.second(F.gelu(self.first(x)))
        y = torch.softmax(x * torch.sigmoid(y) - torch.abs(x), dim=-1) / 2.0
        z = torch.minimum(torch.exp(y), torch.clamp(x, -0.5, 0.5)) + torch.sqrt(torch.abs(x)) + torch.square(x)
        return F.leaky_relu(z, 0.2), torch.tanh(torch.floor(x) + F.elu(x)), torch.maximum(-x, torch.rsqrt(torch.exp(x)))


def lower(program, partitioners):
    return to_edge_transform_and_lower(program, partitioner=partitioners).to_executorch().buffer


def run_upstream(program, inputs):
    from executorch.runtime import Runtime
    return Runtime.get().load_program(program).load_method("forward").execute(list(inputs))


def save(name, program, calls, outputs_of):
    (HERE / f"{name}.pte").write_bytes(program)
    lines = []
    for inputs in calls:
        lines += ["call forward"] + [line("input", x) for x in inputs] + [line("output", y) for y in outputs_of(inputs)]
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n")


def quantize(model, inputs, config):
    quantizer = XNNPACKQuantizer().set_global(config)
    prepared = prepare_pt2e(export(model, inputs, strict=True).module(), quantizer)
    prepared(*inputs)
    return export(convert_pt2e(prepared), inputs, strict=True)


class SmallImage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = x + self.second(x)
        return self.last(x.mean((2, 3), keepdim=True).flatten(1))


def main():
    torch.manual_seed(0)
    image = Image().eval()
    x = torch.randn(1, 3, 8, 10)
    save("xnnpack_image", lower(export(image, (x,), strict=True), [XnnpackPartitioner()]), [(x,), (torch.randn(1, 3, 8, 10),)], lambda i: image(*i))
    vectors = Vectors().eval()
    batch = Dim("batch", min=1, max=8)
    calls = [(torch.randn(n, 6),) for n in (8, 1, 3, 8)]
    program = export(vectors, calls[0], dynamic_shapes={"x": {0: batch}}, strict=True)
    save("xnnpack_vectors", lower(program, [XnnpackPartitioner()]), calls, lambda i: vectors(*i))
    x = torch.randn(1, 3, 5, 6)
    program = lower(quantize(SmallImage().eval(), (x,), get_symmetric_quantization_config(is_per_channel=True)), [XnnpackPartitioner()])
    save("xnnpack_int8", program, [(x,)], lambda i: run_upstream(program, i))
    x = torch.randn(3, 6)
    dynamic = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    partitioners = [XnnpackPartitioner(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT, per_op_mode=True), XnnpackPartitioner()]
    linear = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 5)).eval()
    program2 = lower(quantize(linear, (x,), dynamic), partitioners)
    save("xnnpack_dynamic_int8", program2, [(x,), (torch.randn(3, 6),)], lambda i: run_upstream(program2, i))


if __name__ == "__main__":
    main()
