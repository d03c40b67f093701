"""Which operators have a row: PyTorch's core operators, and those that upstream's runtime registers."""

import json
import subprocess


def core_operators():
    """(name, overload) of every operator overload that PyTorch tags as core."""
    import torch

    found = []
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            packet = getattr(torch.ops.aten, schema.name[6:], None)
            overload = getattr(packet, schema.overload_name or "default", None)
            if isinstance(overload, torch._ops.OpOverload) and torch.Tag.core in overload.tags:
                found.append((schema.name, schema.overload_name))
    return sorted(found)


def upstream_operators():
    """Names of the kernels that upstream's runtime registers: "aten::add.out"."""
    from executorch.runtime import Runtime

    return sorted(set(Runtime.get().operator_registry.operator_names))


# What no program can hold to: refused, and why.
NO_MEANING = {"aten::resize_": "elements that it adds have no values; decomposed programs have as_strided in its place"}


def joined(name, overload):
    return f"{name}.{overload}" if overload else name


def missing_rows(command):
    """{kind: (total, names without a row)}. A row counts when it has a kernel, or when the compiler takes it apart; which of the two
    a row is, the operator tests prove."""
    rows = json.loads(subprocess.run([command, "ops", "--json"], check=True, capture_output=True, text=True).stdout)
    functional = {(r["name"], r["overload"]) for r in rows} | {(r["name"], r["out"]) for r in rows}
    called = {joined(r["name"], r[key]) for r in rows for key in ("out", "overload")}
    core, upstream = core_operators(), upstream_operators()
    return {
        "PyTorch's core operators": (len(core), [joined(*c) for c in core if c not in functional and c[0] not in NO_MEANING]),
        "operators that upstream's runtime registers": (len(upstream), [u for u in upstream if u not in called]),
    }
