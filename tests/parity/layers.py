"""The classic torch.nn layers, each as a model of its own, with inputs.

LAYERS maps a name to a function that returns (module, tuple of inputs), as MODELS does in models.py.
"""

import torch
import torch.nn.functional as F
from torch import nn

LAYERS = {}


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def layer(name, make, *shapes):
    LAYERS[name] = lambda: (make(), tuple(torch.randn(s) for s in shapes))


def function(name, body, *shapes):
    layer(name, lambda: Function(body), *shapes)


def enliven(module):
    """Norms with weights of one and statistics of zero would hide errors."""
    for m in module.modules():
        if isinstance(m, nn.modules.batchnorm._NormBase) and m.running_mean is not None:
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 2)
        if hasattr(m, "weight") and isinstance(m, (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)) and m.weight is not None:
            m.weight.normal_()
            if getattr(m, "bias", None) is not None:
                m.bias.normal_()
    return module


def build(name):
    torch.manual_seed(7)
    with torch.no_grad():
        module, inputs = LAYERS[name]()
        return enliven(module).eval().requires_grad_(False), inputs


layer("linear", lambda: nn.Linear(12, 7), (3, 12))
layer("linear_without_bias", lambda: nn.Linear(12, 7, bias=False), (2, 3, 12))
layer("bilinear", lambda: nn.Bilinear(4, 5, 6), (3, 4), (3, 5))
layer("conv1d", lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2), (2, 4, 19))
layer("conv2d", lambda: nn.Conv2d(3, 8, 3, padding=1), (2, 3, 9, 11))
layer("conv2d_strided_grouped", lambda: nn.Conv2d(8, 12, (3, 5), stride=(2, 1), padding=(1, 2), groups=4), (1, 8, 13, 10))
layer("conv2d_depthwise", lambda: nn.Conv2d(8, 8, 3, padding=1, groups=8), (1, 8, 7, 7))
layer("conv2d_dilated", lambda: nn.Conv2d(4, 5, 3, padding=4, dilation=4), (1, 4, 12, 12))
layer("conv2d_same", lambda: nn.Conv2d(3, 4, 4, padding="same"), (1, 3, 8, 9))
layer("conv2d_unbatched", lambda: nn.Conv2d(3, 4, 3), (3, 8, 9))
layer("conv3d", lambda: nn.Conv3d(2, 3, 3, padding=1), (1, 2, 5, 6, 7))
layer("conv_transpose1d", lambda: nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1), (1, 4, 9))
layer("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (1, 4, 5, 6))
layer("conv_transpose3d", lambda: nn.ConvTranspose3d(2, 2, 2, stride=2), (1, 2, 3, 3, 3))
layer("max_pool1d", lambda: nn.MaxPool1d(3), (2, 3, 10))
layer("max_pool2d", lambda: nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), (1, 3, 11, 12))
layer("max_pool2d_list", lambda: nn.MaxPool2d([3]), (1, 2, 9, 9))
layer("max_pool3d", lambda: nn.MaxPool3d(2), (1, 2, 4, 6, 6))
layer("avg_pool1d", lambda: nn.AvgPool1d(3, padding=1), (2, 3, 10))
layer("avg_pool2d", lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (1, 2, 6, 7))
layer("avg_pool2d_divisor", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False, divisor_override=2), (1, 1, 6, 6))
layer("avg_pool3d", lambda: nn.AvgPool3d(2), (1, 2, 4, 4, 4))
layer("adaptive_avg_pool1d", lambda: nn.AdaptiveAvgPool1d(4), (1, 3, 10))
layer("adaptive_avg_pool2d", lambda: nn.AdaptiveAvgPool2d((3, 5)), (1, 3, 10, 11))
layer("adaptive_avg_pool2d_one", lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 5, 7))
layer("adaptive_max_pool2d", lambda: nn.AdaptiveMaxPool2d(3), (1, 2, 7, 8))
layer("lp_pool2d", lambda: nn.LPPool2d(2, 3), (1, 2, 9, 9))
layer("batch_norm1d", lambda: nn.BatchNorm1d(5), (4, 5))
layer("batch_norm2d", lambda: nn.BatchNorm2d(5), (2, 5, 4, 3))
layer("batch_norm3d", lambda: nn.BatchNorm3d(2), (1, 2, 3, 3, 3))
layer("layer_norm", lambda: nn.LayerNorm([4, 6]), (2, 3, 4, 6))
layer("group_norm", lambda: nn.GroupNorm(2, 6), (2, 6, 5, 4))
layer("instance_norm", lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 6, 5))
layer("rms_norm", lambda: nn.RMSNorm(8), (2, 3, 8))
layer("local_response_norm", lambda: nn.LocalResponseNorm(3), (1, 6, 4, 4))
for name in (
    "ReLU ReLU6 Sigmoid Tanh SiLU GELU Hardswish Hardsigmoid Hardtanh ELU CELU SELU LeakyReLU Mish Softplus Softsign Softshrink "
    "Hardshrink Tanhshrink LogSigmoid"
).split():
    layer(name.lower(), getattr(nn, name), (2, 3, 5))
layer("gelu_tanh", lambda: nn.GELU("tanh"), (2, 9))
layer("prelu", lambda: nn.PReLU(3), (2, 3, 4))
layer("glu", lambda: nn.GLU(1), (2, 6, 3))
layer("threshold", lambda: nn.Threshold(0.1, 20.0), (2, 9))
layer("softmax", lambda: nn.Softmax(1), (2, 5, 3))
layer("log_softmax", lambda: nn.LogSoftmax(-1), (2, 5))
layer("softmin", lambda: nn.Softmin(0), (4, 3))
layer("lstm_bidirectional", lambda: nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True), (2, 7, 6))
layer("lstm_projected", lambda: nn.LSTM(6, 8, proj_size=3), (4, 2, 6))
layer("gru", lambda: nn.GRU(6, 5, 2), (4, 2, 6))
layer("gru_bidirectional", lambda: nn.GRU(6, 5, batch_first=True, bidirectional=True), (2, 4, 6))
layer("rnn_tanh", lambda: nn.RNN(6, 5), (4, 2, 6))
layer("rnn_relu", lambda: nn.RNN(6, 5, nonlinearity="relu"), (4, 2, 6))
layer("lstm_cell", lambda: nn.LSTMCell(6, 5), (2, 6))
layer("gru_cell", lambda: nn.GRUCell(6, 5), (2, 6))
layer("attention", lambda: nn.MultiheadAttention(16, 4, batch_first=True), (2, 5, 16), (2, 7, 16), (2, 7, 16))
layer("encoder_layer", lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True), (2, 5, 16))
layer("decoder_layer", lambda: nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), (2, 5, 16), (2, 6, 16))
layer("pixel_shuffle", lambda: nn.PixelShuffle(2), (1, 8, 3, 4))
layer("pixel_unshuffle", lambda: nn.PixelUnshuffle(2), (1, 2, 6, 4))
layer("channel_shuffle", lambda: nn.ChannelShuffle(2), (1, 6, 3, 3))
layer("upsample_nearest", lambda: nn.Upsample(scale_factor=2), (1, 2, 3, 4))
layer("upsample_bilinear", lambda: nn.Upsample(size=(7, 9), mode="bilinear"), (1, 2, 3, 4))
layer("upsample_bilinear_corners", lambda: nn.Upsample(size=(7, 9), mode="bilinear", align_corners=True), (1, 2, 3, 4))
layer("upsample_bicubic", lambda: nn.Upsample(scale_factor=1.5, mode="bicubic"), (1, 2, 4, 4))
layer("upsample_linear", lambda: nn.Upsample(scale_factor=3, mode="linear"), (1, 2, 5))
layer("reflection_pad2d", lambda: nn.ReflectionPad2d((1, 2, 2, 0)), (1, 2, 4, 5))
layer("replication_pad2d", lambda: nn.ReplicationPad2d(2), (1, 2, 4, 5))
layer("zero_pad2d", lambda: nn.ZeroPad2d((1, 0, -1, 2)), (1, 2, 4, 5))
layer("circular_pad1d", lambda: nn.CircularPad1d(2), (1, 2, 6))
layer("constant_pad3d", lambda: nn.ConstantPad3d(1, 0.5), (1, 1, 2, 3, 3))
layer("flatten", lambda: nn.Flatten(1), (2, 3, 4))
layer("unflatten", lambda: nn.Unflatten(1, (2, 3)), (2, 6, 4))
layer("fold", lambda: nn.Fold((4, 5), (2, 2)), (1, 8, 12))
layer("unfold", lambda: nn.Unfold((2, 3), padding=1), (1, 2, 4, 5))
layer("cosine_similarity", lambda: nn.CosineSimilarity(1), (3, 5), (3, 5))
layer("pairwise_distance", lambda: nn.PairwiseDistance(), (3, 5), (3, 5))
LAYERS["embedding"] = lambda: (nn.Embedding(10, 4, padding_idx=0), (torch.tensor([[1, 0, 9], [3, 3, 7]]),))
LAYERS["embedding_bag"] = lambda: (nn.EmbeddingBag(10, 4, mode="mean"), (torch.tensor([[1, 0, 9], [3, 3, 7]]),))
function("antialias", lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", antialias=True), (1, 2, 32, 30))
function("normalize", lambda x: F.normalize(x, dim=1), (3, 5))
function("causal_attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[(1, 2, 6, 8)] * 3)
function("einsum", lambda a, b: torch.einsum("bij,bkj->bik", a, b), (2, 3, 4), (2, 5, 4))
function("grid_sample", lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False), (1, 2, 5, 6), (1, 3, 4, 2))
function("in_place", lambda x: (x + 1).relu_().mul_(2).add_(x), (2, 3))
function("views", lambda x: (x.transpose(1, 2)[:, 1:3].unsqueeze(0), x.split([1, 2], 1), x.chunk(2, -1)), (2, 3, 4))
function("channels_last", lambda x: x.to(memory_format=torch.channels_last).sigmoid().contiguous(), (2, 3, 4, 5))
