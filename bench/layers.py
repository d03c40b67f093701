"""Single layers whose share of the roof is promised; run by the Python that has torch: layers.py FOLDER writes NAME.pt2 and NAME.in*.npy.

LAYERS maps a name to (what is promised, in per cent of the roof, and what it is promised of).
"""

import pathlib
import sys

LAYERS = {
    "product_1024": (85, "1024 x 1024 times 1024 x 1024, constant weights"),
    "product_inputs": (85, "1024 x 1024 times 1024 x 1024, both from outside"),
    "product_128x384x1536": (85, "128 x 384 times 384 x 1536"),
    "conv1x1_56": (80, "1x1 convolution, 64 to 256 channels, 56 x 56"),
    "conv1x1_14": (80, "1x1 convolution, 1024 to 256 channels, 14 x 14"),
    "conv3x3_56": (80, "3x3 convolution, 64 to 64 channels, 56 x 56"),
    "conv3x3_14": (80, "3x3 convolution, 256 to 256 channels, 14 x 14"),
    "conv3x3_7": (80, "3x3 convolution, 512 to 512 channels, 7 x 7"),
    "chain": (85, "relu(x * y + x), 16 million elements"),
    "matrix_vector": (85, "4096 x 4096 matrix times vector"),
}


def build(name):
    import torch
    from torch import nn

    class Chain(nn.Module):
        def forward(self, x, y):
            return torch.relu(x * y + x)

    class Product(nn.Module):
        def forward(self, x, y):
            return x @ y

    conv = lambda i, o, k, size: (nn.Conv2d(i, o, k, padding=k // 2, bias=False), (torch.randn(1, i, size, size),))
    models = {
        "product_1024": lambda: (nn.Linear(1024, 1024, bias=False), (torch.randn(1024, 1024),)),
        "product_inputs": lambda: (Product(), (torch.randn(1024, 1024), torch.randn(1024, 1024))),
        "product_128x384x1536": lambda: (nn.Linear(384, 1536, bias=False), (torch.randn(128, 384),)),
        "conv1x1_56": lambda: conv(64, 256, 1, 56),
        "conv1x1_14": lambda: conv(1024, 256, 1, 14),
        "conv3x3_56": lambda: conv(64, 64, 3, 56),
        "conv3x3_14": lambda: conv(256, 256, 3, 14),
        "conv3x3_7": lambda: conv(512, 512, 3, 7),
        "chain": lambda: (Chain(), (torch.randn(4096, 4096), torch.randn(4096, 4096))),
        "matrix_vector": lambda: (nn.Linear(4096, 4096, bias=False), (torch.randn(1, 4096),)),
    }
    return models[name]()


def main(folder):
    import numpy as np
    import torch

    for name in LAYERS:
        archive = pathlib.Path(folder) / f"{name}.pt2"
        if archive.exists():
            continue
        module, inputs = build(name)
        torch.export.save(torch.export.export(module.eval(), inputs), archive)
        for i, tensor in enumerate(inputs):
            np.save(archive.with_suffix(f".in{i}.npy"), tensor.numpy())


if __name__ == "__main__":
    main(sys.argv[1])
