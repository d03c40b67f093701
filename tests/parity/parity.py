"""Compares fidibus with eager PyTorch and with upstream's runtime: `./run parity [--all] [--only NAME...] [--zoo DIR]`.

For each model: our cpu program against eager, our portable and xnnpack programs in our runtime and in upstream's, upstream's portable program in
our runtime. For each layer: our cpu program against eager. Weights in data files and state: data.py. With --zoo, a folder of
exported models with recorded outputs: zoo_proofs.py. With --families, some 160 more families: family_proofs.py. Then the operator exam
(opinfo.py): with --all every sample of PyTorch's operator database, otherwise
as many as two minutes allow, of operators that the commit chooses. Ends with a line "N passed, N failed".
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time

import numpy as np

from common import Failure, Fidibus, Score, command, compare

HERE = pathlib.Path(__file__).parent


# ---- Our side ------------------------------------------------------------------------------------------------------------


def numpy_of(tensor):
    import torch

    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.uint16)
    return tensor.numpy()


def prepare(build, name, work):
    """Exports a model once; returns archive, input files, inputs, eager outputs."""
    import torch
    from torch.utils import _pytree as pytree

    module, inputs = build(name)
    archive = work / f"{name}.pt2"
    with torch.no_grad():
        expected = [numpy_of(t) for t in pytree.tree_leaves(module(*inputs))]
    if not archive.exists():
        torch.export.save(torch.export.export(module, inputs), archive)
    files = []
    for i, tensor in enumerate(inputs):
        files.append(work / f"{name}.in{i}.npy")
        np.save(files[-1], numpy_of(tensor))
    return archive, files, inputs, expected


def check_outputs(found, expected, **tolerance):
    if len(found) != len(expected):
        raise Failure(f"{len(found)} outputs, expected {len(expected)}")
    return max((compare(f, e, **tolerance) for f, e in zip(found, expected)), default=0.0)


# ---- Upstream's side -----------------------------------------------------------------------------------------------------

# Upstream runs in a process of its own: what crashes there must not end the comparison.
RUN_UPSTREAM = """
import sys, numpy as np, torch
from executorch.runtime import Runtime
program, out, *inputs = sys.argv[1:]
method = Runtime.get().load_program(program).load_method("forward")
for i, tensor in enumerate(method.execute([torch.from_numpy(np.load(f)) for f in inputs])):
    np.save(f"{out}.{i}.npy", tensor.contiguous().numpy())
"""

EXPORT_UPSTREAM = """
import sys, time, torch
from executorch.exir import to_edge
archive, program = sys.argv[1:]
exported = torch.export.load(archive)
start = time.perf_counter()
open(program, "wb").write(to_edge(exported).to_executorch().buffer)
print("seconds", time.perf_counter() - start)
"""


def run_upstream(program, files, count, work):
    out = work / "upstream"
    for old in work.glob("upstream.*.npy"):
        old.unlink()
    command(sys.executable, "-c", RUN_UPSTREAM, program, out, *files)
    return [np.load(f"{out}.{i}.npy") for i in range(count)]


def export_upstream(archive, work):
    program = work / f"{archive.stem}.upstream.pte"
    if not program.exists():
        command(sys.executable, "-c", EXPORT_UPSTREAM, archive, program)
    return program


# ---- What is checked -------------------------------------------------------------------------------------------------------


def check_deterministic(fidibus, archive):
    first = fidibus.compile(archive).read_bytes()
    if first != fidibus.compile(archive).read_bytes():
        raise Failure("two compilations differ")


def exact_outputs(archive, files):
    """Eager PyTorch in float64."""
    import torch

    model = torch.export.load(archive).module().double()
    inputs = [torch.from_numpy(np.load(f)) for f in files]
    with torch.no_grad():
        found = model(*[x.double() if x.is_floating_point() else x for x in inputs])
    return [y.numpy() for y in (found if isinstance(found, (tuple, list)) else [found])]


def check_numbers(found, expected, archive, files):
    """Eager's numbers within the tolerance; where those are themselves further from the exact ones than it (resnet50: 1.6e-5 of the scale),
    other sums of the same numbers cannot meet it, and are held to lie as near the exact ones as eager does, half as far again at most."""
    try:
        return check_outputs(found, expected)
    except Failure as failure:
        exact = exact_outputs(archive, files)
        ours = max(float(np.abs(a - e).max()) for a, e in zip(found, exact))
        eager = max(float(np.abs(b - e).max()) for b, e in zip(expected, exact))
        if not ours <= 1.5 * eager:
            raise Failure(f"{failure}; {ours:.1e} from the exact numbers, eager {eager:.1e}") from None
        return ours / max(float(np.abs(e).max()) for e in exact)


def check_in_upstream(program, archive, files, expected, work):
    """Our program in upstream's runtime gives eager's numbers, or those of upstream's own portable program of the same archive there:
    on deep networks upstream's kernels round further from eager than the tolerance (resnet50: 2e-5 of the scale)."""
    found = run_upstream(program, files, len(expected), work)
    try:
        return check_numbers(found, expected, archive, files)
    except Failure:
        own = run_upstream(export_upstream(archive, work), files, len(expected), work)
        return check_outputs(found, own)


# Prints the names of the events of the last run, as upstream's Inspector sees them.
INSPECT_UPSTREAM = """
import sys
from executorch.devtools import Inspector
block = [b for b in Inspector(etdump_path=sys.argv[1]).event_blocks if b.name == "Execute"][0]
print(len(block.events), "Method::execute" in [e.name for e in block.events], min(len(e.perf_data.raw) for e in block.events if e.perf_data))
"""


def check_trace(fidibus, program, files):
    """Upstream's Inspector reads our trace: a kernel and a call for each instruction, and each measured in both runs."""
    trace = fidibus.work / "trace.etdp"
    words = [w for f in files for w in ("--input", f)]
    command(fidibus.path, "run", program, *words, "--next", *words, "--trace", trace)
    profile = json.loads(command(fidibus.path, "profile", trace, "--json"))
    events, whole, runs = command(sys.executable, "-c", INSPECT_UPSTREAM, trace).split()[-3:]
    if int(events) != 2 * len(profile["calls"]) + 1 or whole != "True" or runs != "2":
        raise Failure(f"the Inspector sees {events} events of {runs} runs for {len(profile['calls'])} instructions")


def check_cosine(found, expected):
    a, b = found[0].ravel().astype(np.float64), expected[0].ravel().astype(np.float64)
    cosine = a @ b / np.sqrt((a @ a) * (b @ b))
    if not cosine > 0.99999:
        raise Failure(f"cosine to eager {cosine}")
    return float(1 - cosine)


def check_for_upstream(score, fidibus, target, prepared, upstream):
    """A program of upstream's operators, or of those and its XNNPACK backend's delegates, in both runtimes."""
    name, archive, files, expected = prepared
    if not score.check(f"{name}: {target} program compiles", lambda: fidibus.compile(archive, target) and None):
        return
    program = fidibus.work / f"{name}.{target}.pte"
    score.check(f"{name}: {target} program here", lambda: check_numbers(fidibus.run(program, files), expected, archive, files))
    if upstream:
        score.check(
            f"{name}: {target} program in upstream's runtime", lambda: check_in_upstream(program, archive, files, expected, fidibus.work)
        )


def check_model(score, fidibus, name, upstream):
    import models

    archive, files, _, expected = prepare(models.build, name, fidibus.work)
    work = fidibus.work
    score.check(f"{name}: cpu program against eager", lambda: check_outputs(fidibus.run(fidibus.compile(archive), files), expected))
    score.check(
        f"{name}: two threads", lambda: check_outputs(fidibus.run(work / f"{name}.cpu.pte", files, threads=2), expected)
    )
    if upstream:
        score.check(f"{name}: trace in upstream's Inspector", lambda: check_trace(fidibus, fidibus.work / f"{archive.stem}.cpu.pte", files))
    score.check(f"{name}: compiled twice, the same bytes", lambda: check_deterministic(fidibus, archive))
    if name == "minilm":
        score.check("minilm: cosine", lambda: check_cosine(fidibus.run(work / "minilm.cpu.pte", files), expected))
    for target in ("portable", "xnnpack"):
        check_for_upstream(score, fidibus, target, (name, archive, files, expected), upstream)
    if not upstream:
        return
    score.check(
        f"{name}: upstream's program here",
        lambda: check_outputs(fidibus.run(export_upstream(archive, work), files), expected),
    )


def check_layer(score, fidibus, name):
    import layers

    archive, files, _, expected = prepare(layers.build, name, fidibus.work)
    score.check(f"layer {name}", lambda: check_outputs(fidibus.run(fidibus.compile(archive), files), expected))


def check_demo(score, fidibus):
    """The photo's five labels, in eager's order."""
    example = HERE.parent.parent / "examples" / "classify"
    program = fidibus.compile(example / "efficientnet_lite0.pt2", name="demo")
    words = ["--image-mean", "0.498039", "--image-std", "0.501961", "--labels", example / "labels.txt"]
    for photo, expected in json.loads((example / "expected.json").read_text()).items():

        def body(photo=photo, expected=expected):
            lines = command(fidibus.path, "run", program, "--input", example / photo, *words).splitlines()
            found = [line.split("%")[1].strip() for line in lines]
            if found != [label for label, _ in expected]:
                raise Failure(f"{found}, eager says {[label for label, _ in expected]}")

        score.check(f"demo {photo}: five labels", body)


# ---- The operator exam -----------------------------------------------------------------------------------------------------

EXAM_SECONDS = 120  # of a part of the exam


def commit():
    try:
        return command("git", "-C", HERE, "rev-parse", "HEAD").strip()
    except (Failure, OSError):  # sources without git
        return "none"


def exam_options(words, target):
    import opinfo

    return opinfo.options_of([*words, "--target", target])


def run_exam(work, target, recorded, whole, words=()):
    """The exam's results; those of failures are written to a file."""
    import opinfo
    import opinfo_export

    options = exam_options(words, target)
    jobs = opinfo.recorded_jobs(recorded, options) if recorded else opinfo_export.jobs(options)
    if not whole:
        random.Random(commit()).shuffle(jobs)
    results = opinfo.examine_all(jobs, options, None if whole else time.monotonic() + EXAM_SECONDS)
    log = work / f"opinfo.{target}.jsonl"
    log.write_text("".join(json.dumps(r) + "\n" for r in results))
    print(f"the operator exam, target {target}; every result is in {os.path.relpath(log)}")
    return opinfo.report(results)


def check_exam(work, target, least, *rest):
    import opinfo

    passed, total, crashes = opinfo.outcome(run_exam(work, target, *rest))
    if crashes or passed < least * total:
        raise Failure(f"outside lapack {opinfo.share(passed, total)} pass, {crashes} crash or hang")


def check_rows(fidibus):
    import rows

    lacking = []
    for kind, (total, names) in rows.missing_rows(fidibus.path).items():
        print(f"{kind}: {total - len(names)} of {total} have a row", flush=True)
        lacking += names
    if lacking:
        raise Failure(f"no row: {' '.join(lacking)}")


def check_operators(score, fidibus, options):
    """At least 99.5 % outside lapack on our own target."""
    score.check("operators: cpu", lambda: check_exam(fidibus.work, "cpu", 0.995, options.samples, options.all))
    if options.all:
        score.check("operators: portable", lambda: check_exam(fidibus.work, "portable", 0.9, options.samples, True))
        score.check("operators: rows", lambda: check_rows(fidibus))


# ---- ------------------------------------------------------------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(prog="./run parity", description=__doc__.splitlines()[0])
    parser.add_argument("--fidibus", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--work", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[], help="names of models, layers or zoo entries; operators: the operator exam; data: data.py")
    parser.add_argument("--zoo", type=pathlib.Path, help="folder of an exported model zoo, instead of the models and layers here")
    parser.add_argument("--families", action="store_true", help="the model families of families.py, instead of the models and layers here")
    parser.add_argument("--exports", type=pathlib.Path, help="folder that keeps exported families, instead of exporting them in every run")
    parser.add_argument("--all", action="store_true", help="the whole operator exam, for both targets, and the zoo beside the models if given")
    parser.add_argument("--samples", type=pathlib.Path, help="folder of exported operator samples, instead of exporting them")
    parser.add_argument("--no-upstream", action="store_true", help="leave upstream's runtime and exporter out")
    return parser.parse_args()


def main():
    options = arguments()
    sys.path.insert(0, str(HERE))
    options.work.mkdir(parents=True, exist_ok=True)
    fidibus, score = Fidibus(options.fidibus.resolve(), options.work.resolve()), Score()
    if options.zoo:
        import zoo_proofs

        zoo_proofs.check(score, fidibus, options.zoo, options.only, not options.no_upstream)
    if options.families or options.all:
        import family_proofs

        family_proofs.check(score, fidibus, options.only, options.exports)
    if options.all or not (options.zoo or options.families):
        import layers
        import models

        wanted = lambda name: not options.only or name in options.only
        if wanted("demo"):
            check_demo(score, fidibus)
        for name in filter(wanted, layers.LAYERS):
            check_layer(score, fidibus, name)
        for name in filter(wanted, models.MODELS):
            check_model(score, fidibus, name, not options.no_upstream)
        if wanted("data"):
            import data

            data.check(score, fidibus, not options.no_upstream, sys.modules[__name__])
        if wanted("operators"):
            check_operators(score, fidibus, options)
    for name in score.failed:
        print("failed:", name)
    print(f"{score.passed} passed, {len(score.failed)} failed")
    sys.exit(1 if score.failed else 0)


if __name__ == "__main__":
    main()
