"""Normalizations: dtypes, shapes, absent parameters, statistics, training."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.float64: (1e-8, 1e-8), torch.float16: (5e-3, 5e-3), torch.bfloat16: (3e-2, 5e-2)}


def layers(c):
    c.comment("layer and rms norms")
    for dtype in FLOATS:
        tol = TOLERANCE[dtype]
        x, w, b = c.tensor((2, 3, 4), dtype), c.tensor((4,), dtype), c.tensor((4,), dtype)
        c.call("layer_norm", x, [4], w, b, tol=tol)
        c.call("native_layer_norm", x, [4], w, b, 1e-3, tol=tol)
        c.call("rms_norm", x, [4], w, tol=tol)
        c.call("rms_norm", x, [4], w, 0.1, tol=tol)
        c.call("_fused_rms_norm", x, [4], w, 1e-5, tol=tol)
    x = c.tensor((2, 3, 4))
    tol = TOLERANCE[torch.float32]
    for shape in ([4], [3, 4], [2, 3, 4]):
        c.call("layer_norm", x, shape, c.tensor(shape), None, 1e-5, tol=tol)
        c.call("native_layer_norm", x, shape, None, None, 1e-5, tol=tol)
        c.call("rms_norm", x, shape, None, None, tol=tol)
    c.call("layer_norm", c.tensor((4,)), [4], tol=tol)
    c.call("layer_norm", c.tensor((0, 4)), [4])
    c.call("layer_norm", c.tensor((2, 3, 2, 4)).to(memory_format=torch.channels_last), [4], tol=tol)
    c.call("layer_norm", torch.full((2, 3), 7.0), [3])
    c.call("layer_norm", torch.tensor([[1e4, 1e4 + 1, 1e4 + 2]]), [3], tol=(1e-3, 1e-3))
    c.error("layer_norm", x, [3])
    c.error("layer_norm", x, [4], c.tensor((3,)))
    c.error("layer_norm", x, [])
    c.error("rms_norm", x, [2, 4])


def batches(c):
    c.comment("batch norms")
    for dtype in FLOATS:
        tol = TOLERANCE[dtype]
        w, b, mean, var = c.tensor((3,), dtype), c.tensor((3,), dtype), c.tensor((3,), dtype), c.tensor((3,), dtype, 0.5, 2)
        for shape in ((2, 3), (2, 3, 4), (2, 3, 2, 2), (1, 3, 2, 1, 2)):
            c.call("_native_batch_norm_legit_no_training", c.tensor(shape, dtype), w, b, mean, var, 0.1, 1e-5, tol=tol)
        c.call("_native_batch_norm_legit_no_training", c.tensor((2, 3, 4), dtype), None, None, mean, var, 0.1, 1e-2, tol=tol)
    w, b, mean, var = c.tensor((3,)), c.tensor((3,)), c.tensor((3,)), c.tensor((3,), low=0.5, high=2)
    x = c.tensor((2, 3, 2, 2))
    tol = TOLERANCE[torch.float32]
    c.call("_native_batch_norm_legit_no_training", x.to(memory_format=torch.channels_last), w, b, mean, var, 0.1, 1e-5, layout=None, tol=tol)
    c.call("_native_batch_norm_legit_no_training", c.tensor((0, 3, 2)), w, b, mean, var, 0.1, 1e-5)
    c.call("_native_batch_norm_legit", x, w, b, mean, var, False, 0.1, 1e-5, tol=tol)
    c.call("_native_batch_norm_legit", x, w, None, mean.clone(), var.clone(), True, 0.1, 1e-5, tol=tol)
    c.call("_native_batch_norm_legit.no_stats", x, w, b, True, 0.1, 1e-5, tol=tol)
    c.call("_native_batch_norm_legit_functional", x, w, b, mean, var, True, 0.1, 1e-5, tol=tol)
    c.error("_native_batch_norm_legit_no_training", c.tensor((3,)), w, b, mean, var, 0.1, 1e-5)


def groups(c):
    c.comment("group norms")
    for dtype in FLOATS:
        c.call("native_group_norm", c.tensor((2, 6, 2, 2), dtype), c.tensor((6,), dtype), c.tensor((6,), dtype), 2, 6, 4, 3, 1e-5,
               tol=TOLERANCE[dtype])
    tol = TOLERANCE[torch.float32]
    for group in (1, 2, 6):
        c.call("native_group_norm", c.tensor((2, 6, 3)), None, None, 2, 6, 3, group, 1e-5, tol=tol)
    c.call("native_group_norm", c.tensor((2, 4, 2, 3)).to(memory_format=torch.channels_last), c.tensor((4,)), None, 2, 4, 6, 2, 1e-5, tol=tol)
    c.error("native_group_norm", c.tensor((2, 6, 3)), None, None, 2, 6, 3, 4, 1e-5)


def cases(c):
    layers(c)
    batches(c)
    groups(c)
