"""Nested Python values as flat lists and the text of how they nest, in the form of torch.utils._pytree, without torch."""

import json

_LEAF = {"type": None, "context": None, "children_spec": []}
_DTYPES = ("uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16").split()


def _plain(value):
    """torch's dtypes and layouts stand in programs as their numbers."""
    text = str(value) if type(value).__module__ == "torch" else ""
    if type(value).__name__ == "dtype" and text.removeprefix("torch.") in _DTYPES:
        return _DTYPES.index(text.removeprefix("torch."))
    if type(value).__name__ == "layout":
        return ["torch.strided", "torch.sparse_coo"].index(text)
    return value


def _children(value, kind, context, children, leaves):
    return {"type": f"builtins.{kind}", "context": context, "children_spec": [_spec(child, leaves) for child in children]}


def _spec(value, leaves):
    if isinstance(value, (list, tuple)):
        return _children(value, "tuple" if isinstance(value, tuple) else "list", "null", value, leaves)
    if isinstance(value, dict):
        return _children(value, "dict", json.dumps(list(value)), value.values(), leaves)
    if value is None:
        raise TypeError("a constant method cannot return None")
    value = value.detach() if getattr(value, "requires_grad", False) else value
    leaves.append(_plain(value))
    return _LEAF


def flatten(value):
    """(leaves, JSON text of the tree)"""
    leaves = []
    spec = _spec(value, leaves)
    return leaves, json.dumps([1, spec])
