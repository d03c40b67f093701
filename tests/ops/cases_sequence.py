"""Attention, recurrent layers and cells, look-ups in tables."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.float64: (1e-8, 1e-8), torch.float16: (5e-3, 1e-2), torch.bfloat16: (3e-2, 5e-2)}


def attention(c):
    c.comment("attention")
    for dtype in FLOATS:
        q, k, v = c.tensor((1, 2, 3, 4), dtype), c.tensor((1, 2, 5, 4), dtype), c.tensor((1, 2, 5, 3), dtype)
        c.call("scaled_dot_product_attention", q, k, v, tol=TOLERANCE[dtype])
        c.call("scaled_dot_product_attention", q, k, v, c.tensor((3, 5), dtype), tol=TOLERANCE[dtype])
    tol = TOLERANCE[torch.float32]
    q, k, v = c.tensor((2, 4, 3, 4)), c.tensor((2, 4, 5, 4)), c.tensor((2, 4, 5, 4))
    c.call("scaled_dot_product_attention", q, k, v, None, 0.0, True, tol=tol)
    c.call("scaled_dot_product_attention", q, k, v, None, 0.0, False, scale=0.3, tol=tol)
    mask = c.tensor((2, 1, 3, 5), torch.bool)
    mask[0, 0, 1] = False
    c.call("scaled_dot_product_attention", q, k, v, mask, tol=tol)
    c.call("scaled_dot_product_attention", q, k, v, torch.tensor([True, False, True, True, False]).expand(3, 5), tol=tol)
    c.call("scaled_dot_product_attention", q, k[:, :2], v[:, :2], enable_gqa=True, tol=tol)
    c.call("scaled_dot_product_attention", q[0, 0], k[0, 0], v[0, 0], tol=tol)
    c.call("scaled_dot_product_attention", q[0], k[0], v[0], None, 0.0, True, tol=tol)
    c.error("scaled_dot_product_attention", q, k[..., :3], v)
    c.error("scaled_dot_product_attention", q, k, v, c.tensor((3, 4)))
    c.error("scaled_dot_product_attention", q, k.to(torch.float64), v)


def parameters(c, gates, width, hidden, layers, directions, biases, dtype, projection=0):
    out, result = projection or hidden, []
    for layer in range(layers):
        for _ in range(directions):
            result += [c.tensor((gates * hidden, width if layer == 0 else out * directions), dtype, -1, 1), c.tensor((gates * hidden, out), dtype, -1, 1)]
            result += [c.tensor((gates * hidden,), dtype, -1, 1) for _ in range(2 * biases)]
            result += [c.tensor((out, hidden), dtype, -1, 1)] if projection else []
    return result


def recurrent(c):
    c.comment("recurrent layers")
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, directions, biases, batch_first, dtype in ((1, 1, 1, False, torch.float32), (2, 2, 1, True, torch.float32),
                                                               (1, 2, 0, False, torch.float64), (2, 1, 1, True, torch.bfloat16)):
            x = c.tensor((2, 4, 3) if batch_first else (4, 2, 3), dtype)
            state = [c.tensor((layers * directions, 2, 2), dtype) for _ in range(2)]
            c.call(name + ".input", x, state if name == "lstm" else state[0],
                   parameters(c, gates, 3, 2, layers, directions, biases, dtype), bool(biases), layers, 0.0, False, directions == 2,
                   batch_first, tol=TOLERANCE[dtype])
    tol = TOLERANCE[torch.float32]
    state = [c.tensor((2, 2, 2)), c.tensor((2, 2, 3))]
    c.call("lstm.input", c.tensor((4, 2, 3)), state, parameters(c, 4, 3, 3, 1, 2, 1, torch.float32, 2), True, 1, 0.0, False, True, False, tol=tol)
    c.error("gru.input", c.tensor((4, 2, 3)), c.tensor((1, 3, 2)), parameters(c, 3, 3, 2, 1, 1, 1, torch.float32), True, 1, 0.0, False, False, False)
    c.error("gru.input", c.tensor((4, 2, 5)), c.tensor((1, 2, 2)), parameters(c, 3, 3, 2, 1, 1, 1, torch.float32), True, 1, 0.0, False, False, False)
    c.error("lstm.input", c.tensor((4, 2, 3)), state[:1], parameters(c, 4, 3, 2, 1, 1, 1, torch.float32), True, 1, 0.0, False, False, False)
    c.comment("cells")
    for name, gates in (("lstm_cell", 4), ("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
        for dtype in (torch.float32, torch.bfloat16):
            state = [c.tensor((2, 2), dtype) for _ in range(2)]
            weights = parameters(c, gates, 3, 2, 1, 1, 1, dtype)
            hx = state if name == "lstm_cell" else state[0]
            c.call(name, c.tensor((2, 3), dtype), hx, *weights, tol=TOLERANCE[dtype])
            c.call(name, c.tensor((2, 3), dtype), hx, *weights[:2], tol=TOLERANCE[dtype])
        c.error(name, c.tensor((2, 4), dtype), hx, *weights)


def tables(c):
    c.comment("embedding")
    ids = torch.tensor([[1, 0, 4], [2, 2, 3]])
    for dtype in FLOATS + [torch.int64, torch.int8, torch.bool]:
        c.call("embedding", c.tensor((5, 2), dtype), ids)
    c.call("embedding", c.tensor((5, 2)), ids.to(torch.int32), 0)
    c.call("embedding", c.tensor((5, 2)), torch.tensor(3))
    c.call("embedding", c.tensor((5, 2)), torch.zeros((0, 3), dtype=torch.int64))
    c.call("embedding", c.tensor((5, 0)), ids)
    c.error("embedding", c.tensor((4, 2)), ids)
    c.error("embedding", c.tensor((5, 2)), torch.tensor([-1]))
    c.error("embedding", c.tensor((5, 2)), torch.tensor([0.0]))
    c.comment("bags")
    table, flat = c.tensor((5, 2)), torch.tensor([1, 2, 3, 4, 0, 1])
    for mode in (0, 1, 2):
        c.call("_embedding_bag", table, flat, torch.tensor([0, 2, 2, 4]), False, mode)
        c.call("_embedding_bag", table, flat, torch.tensor([0, 2, 2, 4]), False, mode, False, None, False, 1)
        c.call("embedding_bag", table, flat, torch.tensor([0, 2, 2, 4]), False, mode)
        c.call("_embedding_bag", table, flat, torch.tensor([0, 3, 6]), False, mode, False, None, True)
    for mode in (1, 2):
        c.call("_embedding_bag", table, flat, torch.tensor([0, 2, 5]), False, mode, padding_idx=1)
        c.call("embedding_bag.padding_idx", table, flat, torch.tensor([0, 2, 5]), False, mode, False, None, False, -4)
        c.call("_embedding_bag_forward_only", table, flat, torch.tensor([0, 2, 5]), False, mode)
    c.call("_embedding_bag", table, torch.zeros(0, dtype=torch.int64), torch.tensor([0]), False, 1)
    c.error("_embedding_bag", table, torch.tensor([5]), torch.tensor([0]))
    c.error("_embedding_bag", table, flat, torch.tensor([0, 7]))
    c.error("_embedding_bag", table, flat, torch.tensor([1, 2]))
    c.error("embedding_bag.padding_idx", table, flat, torch.tensor([0]), False, 1, False, None, False, 5)


def cases(c):
    attention(c)
    recurrent(c)
    tables(c)
