"""The nested containers of a model's inputs and outputs, as torch.export keeps them in a program: torch's tree specs in JSON.

Works without torch. With torch loaded, outputs are the user's own classes where they are registered (dataclasses, named tuples,
outputs of transformers); otherwise such a container becomes a Struct.
"""

import collections
import json
import sys


class Struct(dict):
    """A container whose class is not at hand: s.name and s["name"]."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Tree:
    """One node: `kind` is None for a leaf, else torch's name of the container."""

    def __init__(self, described):
        self.kind, context = described["type"], described["context"]
        self.children = [Tree(child) for child in described["children_spec"]]
        self.names = _names(self.kind, context, len(self.children))
        self.leaf_count = 1 if self.kind is None else sum(child.leaf_count for child in self.children)

    def __repr__(self):
        if self.kind is None:
            return "*"
        inner = [f"{n}: {c!r}" for n, c in zip(self.names, self.children)] if self.names else [repr(c) for c in self.children]
        return f"{self.kind.rpartition('.')[2]}({', '.join(inner)})"


def _names(kind, context, count):
    """Keys of dicts, names of fields; None for what counts by place."""
    if isinstance(context, dict):  # defaultdict
        return context.get("dict_context")
    if kind is None or kind == "collections.namedtuple":
        return None
    try:
        names = json.loads(context) if isinstance(context, str) else context
    except ValueError:
        return None
    if isinstance(names, list) and len(names) == 2 and names and isinstance(names[0], list):  # a dataclass: fields, then those that are None
        names = names[0]
    return names if isinstance(names, list) and len(names) == count and count else ([] if _is_dict(kind) else None)


def _is_dict(kind):
    return kind in ("builtins.dict", "collections.OrderedDict", "collections.defaultdict")


def parse(text):
    """The tree of a program's text, or None if the text is none of torch's."""
    if not text.startswith("["):
        return None
    version, described = json.loads(text)
    if version != 1:
        raise ValueError(f"tree specs of version {version} are newer than this package")
    return Tree(described)


# ---- Taking apart ----------------------------------------------------------------------------------------------------------


def _wrong(path, tree, value):
    raise TypeError(f"{path or 'the call'} must be {tree!r}, not {type(value).__name__}")


def _parts(tree, value, path):
    """The children of a value, which must be such a container: (path, child) pairs."""
    if _is_dict(tree.kind):
        if not isinstance(value, dict):
            _wrong(path, tree, value)
        if set(value) != set(tree.names):
            missing, extra = [n for n in tree.names if n not in value], [n for n in value if n not in tree.names]
            raise TypeError(f"{path or 'the call'}" + (f" lacks {missing}" if missing else "") + (f" has {extra}, which the model does not take" if extra else ""))
        return [(f"{path}[{n!r}]", value[n]) for n in tree.names]
    if tree.names is not None:
        if not all(hasattr(value, n) for n in tree.names):
            _wrong(path, tree, value)
        return [(f"{path}.{n}", getattr(value, n)) for n in tree.names]
    if not isinstance(value, (tuple, list, collections.deque)):
        _wrong(path, tree, value)
    if len(value) != len(tree.children):
        raise TypeError(f"{path or 'the call'} takes {len(tree.children)} values, {len(value)} given")
    return [(f"{path}[{i}]", child) for i, child in enumerate(value)]


def flatten(tree, value, path=""):
    """The leaves of a value in order. TypeError names the place that does not fit."""
    if tree.kind is None:
        if isinstance(value, (tuple, list, dict)):
            _wrong(path, tree, value)
        return [value]
    return [leaf for child, (where, part) in zip(tree.children, _parts(tree, value, path)) for leaf in flatten(child, part, where)]


def flatten_call(tree, args, kwargs):
    """The leaves of method(*args, **kwargs); the tree is (args, kwargs)."""
    positional, named = tree.children
    if len(args) != len(positional.children):
        raise TypeError(f"the method takes {len(positional.children)} positional arguments, {len(args)} given")
    leaves = [leaf for i, (child, value) in enumerate(zip(positional.children, args)) for leaf in flatten(child, value, f"argument {i}")]
    return leaves + flatten(named, kwargs, "keywords")


# ---- Putting together ----------------------------------------------------------------------------------------------------------


def _build(tree, leaves):
    if tree.kind is None:
        return next(leaves)
    children = [_build(child, leaves) for child in tree.children]
    if _is_dict(tree.kind):
        plain = dict(zip(tree.names, children))
        return collections.OrderedDict(plain) if tree.kind == "collections.OrderedDict" else plain
    if tree.names is not None:
        return Struct(zip(tree.names, children))
    if tree.kind == "builtins.list":
        return children
    return collections.deque(children) if tree.kind == "collections.deque" else tuple(children)


def unflatten(tree, text, leaves):
    """The container of these leaves; `text` is what `tree` was parsed from."""
    torch = sys.modules.get("torch")
    if torch:
        from torch.utils import _pytree as pytree

        try:
            return pytree.tree_unflatten(list(leaves), pytree.treespec_loads(text))
        except (NotImplementedError, KeyError, ValueError):
            pass  # a class that is registered nowhere in this process
    return _build(tree, iter(leaves))
