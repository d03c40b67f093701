"""Small, seeded versions of model families that people deploy: exported once, compiled, run and compared with eager.

The table below has one line a family, from torchvision, timm, transformers, diffusers and torchaudio. No weights are downloaded: they are
random, the same on every run. Each family is written as the model zoo writes its entries (NAME/NAME.pt2, entry.json, case0/*.npy),
so parity.py checks both with the same code.

    python families.py --out DIR [--only NAME...] [--list]
"""

import argparse
import copy
import json
import pathlib
import time
import warnings
import zlib

import numpy as np
import torch
from torch import nn

FAMILIES = {}


def add(name, build):
    """Registers a family; build() returns (module, args) or (module, args, kwargs)."""
    assert name not in FAMILIES, name
    FAMILIES[name] = build


def image(size=64, batch=1, channels=3):
    return torch.rand(batch, channels, size, size)


def ids(length=12, batch=1, words=99):
    return torch.randint(3, words, (batch, length))


class Tensors(nn.Module):
    """Gives the tensors among a model's outputs, whatever class the outputs have; fields by name when asked."""

    def __init__(self, inner, *fields, **options):
        super().__init__()
        self.inner, self.fields, self.options = inner, fields, options

    def forward(self, *args, **kwargs):
        found = self.inner(*args, **kwargs, **self.options)
        if self.fields:
            return tuple(getattr(found, field) for field in self.fields)
        if isinstance(found, dict):
            return tuple(v for v in found.values() if isinstance(v, torch.Tensor))
        return found


# ---- transformers ------------------------------------------------------------------------------------------------------------

SIZES = dict(
    vocab_size=99,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)


def hf_model(kind, auto, sizes, **options):
    import transformers

    attention = options.pop("attention", None)
    config = transformers.AutoConfig.for_model(kind, **{**sizes, **options})
    return getattr(transformers, auto).from_config(config, **({"attn_implementation": attention} if attention else {}))


def encoder(kind, *fields, auto="AutoModel", **options):
    """A text encoder with an attention mask."""

    def build():
        model = hf_model(kind, auto, SIZES, **options)
        mask = torch.ones(2, 12, dtype=torch.int64)
        mask[1, 9:] = 0
        return Tensors(model, *(fields or ["last_hidden_state"])), (ids(12, 2),), {"attention_mask": mask}

    add(f"hf_{kind}", build)


def decoder(kind, auto="AutoModelForCausalLM", **options):
    """A causal language model without cache: ids to logits."""
    moe = {"experts_implementation": "batched_mm"} if options.pop("experts", False) else {}

    def build():
        import transformers

        config = transformers.AutoConfig.for_model(kind, **{**SIZES, "num_key_value_heads": 2, **options})
        model = getattr(transformers, auto).from_config(config, **moe)
        return Tensors(model, "logits", use_cache=False), (ids(),)

    add(f"hf_{kind}", build)


def seq2seq(kind, **options):
    """An encoder-decoder: ids and decoder ids to logits."""
    sizes = dict(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4)
    sizes.update(encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)

    def build():
        model = hf_model(kind, "AutoModelForSeq2SeqLM", sizes, decoder_start_token_id=1, **options)
        return Tensors(model, "logits", use_cache=False), (ids(),), {"decoder_input_ids": ids(7)}

    add(f"hf_{kind}", build)


def vision(kind, *fields, auto="AutoModel", size=64, staged=False, **options):
    """A model of one image; staged ones have lists of sizes instead of one."""
    sizes = {} if staged else dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=size, patch_size=16)

    def build():
        return Tensors(hf_model(kind, auto, sizes, **options), *fields), (image(size),)

    add(f"hf_{kind}", build)


def audio(kind, *fields, auto="AutoModel", shape=(1, 4000), **options):
    """A model of samples or of a spectrogram."""

    def build():
        sizes = {k: v for k, v in SIZES.items() if k != "vocab_size"}
        return Tensors(hf_model(kind, auto, sizes, **options), *fields), (torch.randn(shape),)

    add(f"hf_{kind}", build)


encoder("albert", embedding_size=16)
encoder("electra", embedding_size=16)
encoder("ernie")
encoder("data2vec-text")
encoder("megatron-bert")
encoder("roberta-prelayernorm")
encoder("xlm-roberta-xl")
encoder("mobilebert", embedding_size=16, intra_bottleneck_size=16)
encoder("modernbert", local_attention=8, global_attn_every_n_layers=2)
encoder("eurobert")
encoder("nomic_bert")
encoder("layoutlm")
encoder("flaubert", emb_dim=32, n_layers=2, n_heads=4, n_words=99)
encoder("xlm", emb_dim=32, n_layers=2, n_heads=4, n_words=99)
encoder("deberta-v2", relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8)
encoder("big_bird", attention_type="original_full")
encoder("splinter")
encoder("luke", entity_vocab_size=10, entity_emb_size=16)
encoder("mra", "last_hidden_state", approx_mode="full")
encoder("yoso", use_expectation=True)
decoder("arcee")
decoder("apertus")
decoder("bloom", n_layer=2, n_head=4)
decoder("codegen", n_embd=32, n_layer=2, n_head=4, n_inner=64, rotary_dim=4, n_positions=64)
decoder("cohere2", head_dim=8)
decoder("doge")
decoder("ernie4_5", head_dim=8)
decoder("ernie4_5_moe", experts=True, moe_num_experts=4, moe_k=2, moe_intermediate_size=32)
decoder("falcon", num_kv_heads=2)
decoder("falcon_h1", mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_n_groups=1, mamba_d_state=8)
decoder("gemma", head_dim=8)
decoder("gemma3_text", head_dim=8)
decoder("glm", head_dim=8)
decoder("gpt_bigcode", n_embd=32, n_layer=2, n_head=4, n_inner=64, n_positions=64)
decoder("gpt_neox")
decoder("granitemoe", experts=True, num_local_experts=4, num_experts_per_tok=2)
decoder("hunyuan_v1_dense", head_dim=8)
decoder("jamba", experts=True, num_experts=4, mamba_d_state=4, use_mamba_kernels=False, attn_layer_period=2, attn_layer_offset=1)
decoder("minimax", experts=True, num_local_experts=4, head_dim=8, block_size=4)
decoder("ministral", head_dim=8)
decoder("mpt", d_model=32, n_heads=4, n_layers=2, max_seq_len=64)
decoder("mamba2", num_heads=4, head_dim=16, state_size=8, n_groups=1, chunk_size=4)
decoder("nanochat")
decoder("olmo3")
decoder("openai-gpt", n_embd=32, n_layer=2, n_head=4, n_positions=64)
decoder("persimmon")
decoder("phi")
decoder("phimoe", experts=True, num_local_experts=4)
decoder("qwen2_moe", experts=True, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32)
decoder("recurrent_gemma", lru_width=32, head_dim=8, block_types=["recurrent", "attention"], attention_window_size=8)
decoder("rwkv", attention_hidden_size=32)
decoder("seed_oss", head_dim=8)
decoder("xglm", d_model=32, num_layers=2, attention_heads=4, ffn_dim=64)
decoder("vaultgemma", head_dim=8)
seq2seq("blenderbot")
seq2seq("m2m_100")
seq2seq("marian")
seq2seq("mbart")
seq2seq("plbart")
seq2seq("umt5", d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4)
vision("bit", staged=True, embedding_size=16, hidden_sizes=[32, 64], depths=[1, 1], num_groups=4)
vision("data2vec-vision")
vision("dinov3_vit")
vision("dpt", "predicted_depth", auto="AutoModelForDepthEstimation", num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 16, 16, 16], fusion_hidden_size=16)
vision("hiera", staged=True, embed_dim=16, depths=[1, 1], num_heads=[1, 2], num_query_pool=1, masked_unit_size=[4, 4], image_size=[64, 64])
vision("mobilenet_v2", depth_multiplier=0.35)
vision("mobilevitv2", staged=True, base_attn_unit_dims=[16, 24, 32], n_attn_blocks=[1, 1, 1])
vision("pvt_v2", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4])
vision("regnet", staged=True, embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8)
vision("segformer", "logits", auto="AutoModelForSemanticSegmentation", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16)
vision("swiftformer", depths=[1, 1, 1, 1], embed_dims=[8, 16, 24, 32])
vision("textnet")
vision("upernet", "logits", auto="AutoModelForSemanticSegmentation", staged=True, hidden_size=16)
vision("vit_msn")
vision("vitdet")
vision("ijepa")
vision("zoedepth", "predicted_depth", auto="AutoModelForDepthEstimation")
audio("hubert", "last_hidden_state", conv_dim=[32] * 3, conv_stride=[5, 4, 2], conv_kernel=[10, 4, 2], num_conv_pos_embeddings=16)
audio("unispeech", "last_hidden_state", conv_dim=[32] * 3, conv_stride=[5, 4, 2], conv_kernel=[10, 4, 2], num_conv_pos_embeddings=16)
audio("data2vec-audio", "last_hidden_state", conv_dim=[32] * 3, conv_stride=[5, 4, 2], conv_kernel=[10, 4, 2], num_conv_pos_embeddings=1)
audio("parakeet_encoder", shape=(1, 60, 80))
audio("wav2vec2-bert", "last_hidden_state", shape=(1, 30, 160))

# ---- timm ----------------------------------------------------------------------------------------------------------------------


def timm_model(name, size=64, **options):
    def build():
        import timm

        return timm.create_model(name, pretrained=False, num_classes=10, **options), (image(size),)

    add(f"timm_{name}", build)


for _name in """edgenext_xx_small fastvit_t8 repvit_m0_9 mobilevitv2_050 lcnet_050 tinynet_e hrnet_w18_small dla34
    selecsls42 skresnet18 rexnet_100 mobileone_s0 repghostnet_050 hgnetv2_b0 efficientvit_b0 pvt_v2_b0 hardcorenas_a
    spnasnet_100 fbnetc_100 mobilenetv4_conv_small mixnet_s cspresnet50 regnetz_b16 gernet_s mobilenetv3_small_050 semnasnet_075
    ese_vovnet19b_dw dpn48b resnet10t eca_resnext26ts botnet26t_256 lambda_resnet26t halonet26t fasternet_t0 shvit_s1""".split():
    timm_model(_name, 256 if "256" in _name or "halo" in _name or "lambda" in _name else 64)
for _name, _size in [("mixer_s32_224", 224), ("resmlp_12_224", 224), ("gmlp_s16_224", 224), ("poolformerv2_s12", 64), ("caformer_s18", 64)]:
    timm_model(_name, _size)
for _name, _size in [("crossvit_tiny_240", 240), ("tnt_s_legacy_patch16_224", 224), ("nest_tiny", 224), ("tiny_vit_5m_224", 224), ("cait_xxs24_224", 224)]:
    timm_model(_name, _size)
for _name, _size in [("mvitv2_tiny", 224), ("sequencer2d_s", 224), ("hiera_tiny_224", 224), ("convmixer_768_32", 64), ("swiftformer_xs", 224)]:
    timm_model(_name, _size)

# ---- torchvision -----------------------------------------------------------------------------------------------------------------


def torchvision_model(name, args=None, **options):
    def build():
        import torchvision

        group = torchvision.models
        for place in (group, group.segmentation, group.video, group.optical_flow):
            if hasattr(place, name):
                group = place
        model = getattr(group, name)(weights=None, **options)
        return Tensors(model), tuple(args() if args else [image()])

    add(f"torchvision_{name}", build)


torchvision_model("alexnet")
torchvision_model("shufflenet_v2_x0_5")
torchvision_model("inception_v3", lambda: [image(96)], aux_logits=False, init_weights=False)
torchvision_model("regnet_x_400mf")
torchvision_model("efficientnet_v2_s")
torchvision_model("fcn_resnet50", aux_loss=False, weights_backbone=None, num_classes=4)
torchvision_model("r3d_18", lambda: [torch.rand(1, 3, 8, 32, 32)])
torchvision_model("r2plus1d_18", lambda: [torch.rand(1, 3, 8, 32, 32)])


class BoxesAfter(nn.Module):
    """What follows a one-stage detector: decoded boxes, a threshold on scores, non-maximum suppression per class, the best few."""

    def forward(self, regression, scores, anchors):
        from torchvision.ops import nms

        size = anchors[:, 2:] - anchors[:, :2]
        centre = (anchors[:, :2] + anchors[:, 2:]) / 2 + regression[:, :2] * size
        half = size * regression[:, 2:].clamp(max=4).exp() / 2
        boxes = torch.cat([centre - half, centre + half], 1)
        best, label = scores.softmax(-1).max(-1)
        boxes, best, label = boxes[best > 0.3], best[best > 0.3], label[best > 0.3]
        kept = nms(boxes + 100 * label[:, None], best, 0.5)[:10]  # classes far apart never overlap
        return boxes[kept], best[kept], label[kept]


class NmsOnly(nn.Module):
    def forward(self, boxes, scores):
        from torchvision.ops import nms

        return nms(boxes, scores, 0.5)


class RegionHead(nn.Module):
    """The second stage of a region detector on given boxes."""

    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(8 * 25, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, features, boxes):
        from torchvision.ops import roi_align, roi_pool

        return self.head(roi_align(features, boxes, 5, 0.5, 2, True)), roi_pool(features, boxes, 3, 0.5)


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision

        self.offset, self.mask = nn.Conv2d(4, 18, 3, padding=1), nn.Conv2d(4, 9, 3, padding=1)
        self.inner = torchvision.ops.DeformConv2d(4, 6, 3, padding=1)

    def forward(self, x):
        return self.inner(x, self.offset(x), self.mask(x).sigmoid())


def random_boxes(count, size=32.0):
    corner = torch.rand(count, 2) * size * 0.7
    return torch.cat([corner, corner + 2 + torch.rand(count, 2) * size * 0.3], 1)


add("detector_postprocessing", lambda: (BoxesAfter(), (torch.randn(60, 4) * 0.2, torch.randn(60, 5) * 3, random_boxes(60))))
add("nms", lambda: (NmsOnly(), (random_boxes(40), torch.rand(40))))
add("region_head", lambda: (RegionHead(), (torch.randn(1, 8, 16, 16), torch.cat([torch.zeros(6, 1), random_boxes(6)], 1))))
add("deformable_convolution", lambda: (Deformable(), (torch.randn(1, 4, 9, 9),)))

# torch.export refuses whole torchvision detectors (it cannot guard on the number of boxes), so their parts stand here.

# ---- diffusers -------------------------------------------------------------------------------------------------------------------


def diffusion(name, args, call=(), **options):
    """A part of a diffusion pipeline; args() gives its tensors, call the names of those passed by keyword."""

    def build():
        import diffusers

        given = args()
        positional = given[: len(given) - len(call)]
        keywords = dict(zip(call, given[len(positional) :]))
        return Tensors(getattr(diffusers, name)(**options), return_dict=False), tuple(positional), keywords

    add(f"diffusers_{name}", build)


def latents(channels=4, size=16):
    return torch.randn(1, channels, size, size)


STEP = torch.tensor([7])
UNET = dict(block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1, sample_size=16)
diffusion("UNet2DConditionModel", lambda: [latents(), STEP, torch.randn(1, 5, 16)], cross_attention_dim=16, attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **UNET)
diffusion("DiTTransformer2DModel", lambda: [latents(), STEP, torch.tensor([3])], ("timestep", "class_labels"), num_attention_heads=2, attention_head_dim=8, num_layers=2, sample_size=16, num_embeds_ada_norm=10, out_channels=8)
diffusion("PixArtTransformer2DModel", lambda: [latents(), torch.randn(1, 6, 16), STEP], ("encoder_hidden_states", "timestep"), num_attention_heads=2, attention_head_dim=8, num_layers=1, cross_attention_dim=16, caption_channels=16, sample_size=16, use_additional_conditions=False)
diffusion("SD3Transformer2DModel", lambda: [latents(), torch.randn(1, 6, 16), torch.randn(1, 24), STEP], ("encoder_hidden_states", "pooled_projections", "timestep"), sample_size=16, patch_size=2, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=2, joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=24, out_channels=4)
diffusion("AutoencoderTiny", lambda: [image(32)], encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8), num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1))
diffusion("VQModel", lambda: [image(16)], block_out_channels=(16,), norm_num_groups=8, num_vq_embeddings=16, latent_channels=4)
diffusion("UNet1DModel", lambda: [torch.randn(1, 14, 32), STEP], block_out_channels=(16, 32), down_block_types=("DownResnetBlock1D", "DownResnetBlock1D"), up_block_types=("UpResnetBlock1D",), in_channels=14, out_channels=14, time_embedding_type="positional", use_timestep_embedding=True, out_block_type="OutConv1DBlock", mid_block_type="MidResTemporalBlock1D", act_fn="mish", flip_sin_to_cos=False, freq_shift=1, norm_num_groups=8)
diffusion("AutoencoderOobleck", lambda: [torch.randn(1, 2, 64)], encoder_hidden_size=8, downsampling_ratios=[2, 2], decoder_channels=8, decoder_input_channels=4, channel_multiples=[1, 2])
diffusion("PriorTransformer", lambda: [torch.randn(1, 8), STEP, torch.randn(1, 8), torch.randn(1, 7, 8)], num_attention_heads=2, attention_head_dim=4, num_layers=2, embedding_dim=8, num_embeddings=7, additional_embeddings=4)
diffusion("AutoencoderDC", lambda: [image(32)], latent_channels=4, encoder_block_types=("ResBlock", "EfficientViTBlock"), decoder_block_types=("ResBlock", "EfficientViTBlock"), encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8), encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)), attention_head_dim=4)

# ---- torchaudio ------------------------------------------------------------------------------------------------------------------


def torchaudio_model(name, build):
    add(f"torchaudio_{name}", build)


def _audio():
    import torchaudio

    return torchaudio


torchaudio_model("wav2letter", lambda: (_audio().models.Wav2Letter(num_classes=10, input_type="mfcc", num_features=13), (torch.randn(1, 13, 40),)))
torchaudio_model("mel_spectrogram", lambda: (_audio().transforms.MelSpectrogram(n_fft=256, n_mels=20), (torch.randn(1, 2000),)))
torchaudio_model("mfcc", lambda: (_audio().transforms.MFCC(n_mfcc=13, melkwargs=dict(n_fft=256, n_mels=20)), (torch.randn(1, 2000),)))
torchaudio_model("emformer", lambda: (_audio().models.Emformer(16, 4, 32, 2, segment_length=4, right_context_length=1), (torch.randn(1, 17, 16), torch.tensor([17]))))
torchaudio_model("hdemucs", lambda: (_audio().models.HDemucs(sources=["a", "b"], channels=8, depth=5, nfft=1024), (torch.randn(1, 2, 8000),)))
torchaudio_model("wavernn", lambda: (_audio().models.WaveRNN([4, 4], 16, 16, n_res_block=1, n_rnn=16, n_fc=16, n_freq=8, n_hidden=8, n_output=8), (torch.rand(1, 1, 64), torch.rand(1, 1, 8, 8))))
torchaudio_model("squim", lambda: (_audio().models.squim_objective_base(), (torch.randn(1, 4000),)))

# ---- Exporting --------------------------------------------------------------------------------------------------------------------


def enliven(module):
    """Weights that start as zeros, ones or almost nothing get values, and norms get statistics: no part of a network is silent."""
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_floating_point() and tensor.numel() and "freq" not in name and "window" not in name and "pos" not in name:
            with torch.no_grad():
                if name.endswith("running_var"):
                    tensor.copy_(0.5 + torch.rand_like(tensor))
                elif name.endswith("running_mean") or float(tensor.std(unbiased=False)) < 1e-3:
                    tensor.add_(torch.randn_like(tensor) * 0.1)


def flat(tree):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(tree)]


def double(tree):
    raise_to = lambda t: t.double() if isinstance(t, torch.Tensor) and t.dtype == torch.float32 else t
    return torch.utils._pytree.tree_map(raise_to, tree)


def rounding(module, args, kwargs, expected):
    """How far eager itself is from double precision, relative to the RMS of the output; None where double cannot be computed."""
    try:
        exact = flat(copy.deepcopy(module).double()(*double(args), **double(kwargs)))
    except Exception:  # models that fix float32 somewhere
        return None
    worst = 0.0
    for a, b in zip(expected, exact):
        if a.is_floating_point() and a.numel():
            finite = torch.isfinite(b) & torch.isfinite(a)
            rms = b[finite].double().square().mean().sqrt()
            worst = max(worst, float((a[finite].double() - b[finite]).abs().max() / rms.clamp(min=1e-30)))
    return worst


def numpy_of(tensor):
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.detach().contiguous().numpy()


def described(tensors, folder, stem):
    """Writes tensors as .npy; the list that entry.json has of them."""
    found = []
    for i, tensor in enumerate(tensors):
        if isinstance(tensor, torch.Tensor):
            np.save(folder / f"{stem}{i}.npy", numpy_of(tensor))
            found.append({"file": f"case0/{stem}{i}.npy", "dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)})
        else:
            found.append({"value": tensor})
    return found


def export(name, out):
    """Writes one family into out/NAME as the zoo has its entries."""
    torch.manual_seed(zlib.crc32(name.encode()))
    module, args, *rest = FAMILIES[name]()
    kwargs = rest[0] if rest else {}
    module = module.eval()
    enliven(module)
    folder = out / name
    (folder / "case0").mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        program = torch.export.export(module, args, kwargs, strict=False)
        expected = flat(module(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
    torch.export.save(program, folder / f"{name}.pt2")
    case = {
        "inputs": described(flat((args, kwargs)), folder / "case0", "in"),
        "outputs": described(expected, folder / "case0", "out"),
    }
    entry = {"name": name, "stateful": False, "rounding": rounding(module, args, kwargs, expected), "cases": [case]}
    (folder / "entry.json").write_text(json.dumps(entry))
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default="families")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only or FAMILIES:
        if options.list:
            print(name)
            continue
        start = time.time()
        try:
            export(name, options.out)
            print(f"{name}: {time.time() - start:.1f} s", flush=True)
        except Exception as error:  # the report names what the installed libraries cannot build or export
            print(f"{name}: FAILED {type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}", flush=True)


if __name__ == "__main__":
    main()
