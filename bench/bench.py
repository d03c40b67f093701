"""Times fidibus and its rivals in one interleaved run: `./run bench [--models NAME...] [--systems NAME...] [--rounds N] [--threads N...]`.

One process a measurement; rounds go over the systems in turn, so that a noisy minute hits all of them; the figure is the best of all rounds.
Ratios above 1 mean that the rival is slower. `--check` compares with bench/ratios.json, `--commit` writes it, `--page` renews the tables of
docs/performance.md. All figures go to WORK/bench.json, a plot to WORK/bench.svg.
"""

import argparse
import json
import math
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import layers
import plot
import report
from rivals import DEFAULT_SYSTEMS, RIVALS, SYSTEMS, Absent, Workshop, call, compiling, layer_of, roof_of

MODELS = [
    "mobilenet_v2", "mobilenet_v3_small", "efficientnet_lite0", "resnet50", "vit_b_16", "minilm", "deeplabv3_mobilenet", "lstm",
    "conformer_block", "whisper_tiny_encoder",
]  # fmt: skip

PREPARE = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import models, parity
parity.prepare(models.build, sys.argv[2], pathlib.Path(sys.argv[3]))
"""


def prepare(shop, name):
    """The archive of a model and its inputs, exported when first asked for."""
    archive = shop.work / f"{name}.pt2"
    if not archive.exists() or not list(shop.work.glob(f"{name}.in*.npy")):
        call([shop.python("torch"), "-c", PREPARE, HERE.parent / "tests" / "parity", name, shop.work], 600)
    return archive, sorted(shop.work.glob(f"{name}.in*.npy"))


# ---- Measuring ------------------------------------------------------------------------------------------------------------------

BEST = {"load_ms": min, "first_ms": min, "min_ms": min, "median_ms": min, "rss_bytes": min}


def keep_best(old, new):
    if not old:
        return new
    return new | {key: best(old[key], new[key]) for key, best in BEST.items()}


def files_of(shop, archive, inputs, systems):
    """What each system runs, and the reasons of those that are absent."""
    files, absent = {}, {}
    for system in systems:
        try:
            files[system.name] = system.make(shop, archive, inputs)
        except Absent as reason:
            absent[system.name] = str(reason)
    return files, absent


def measure(shop, archive, inputs, systems, threads, rounds, seconds):
    """One model on a number of threads: {system: figures}, {system: why absent}."""
    files, absent = files_of(shop, archive, inputs, systems)
    found = {}
    for i in range(rounds):
        for system in systems:
            if system.name in absent or (system.slow and (i > 0 or threads > 1)):
                continue
            budget = (0.0, 1) if system.name == "portable" else (seconds, 5)
            try:
                figures = system.time(shop, files[system.name], threads, budget[0], inputs, budget[1])
                found[system.name] = keep_best(found.get(system.name), figures)
            except Absent as reason:
                absent[system.name] = str(reason)
                found.pop(system.name, None)
    return found, absent


def fastest_rival(systems):
    times = {name: figures["min_ms"] for name, figures in systems.items() if name in RIVALS}
    return min(times, key=times.get) if times else None


def ratios_of(entry):
    """Times of the rivals over ours."""
    ours = entry["systems"].get("fidibus")
    return {name: figures["min_ms"] / ours["min_ms"] for name, figures in entry["systems"].items() if ours and name != "fidibus"}


def print_entry(entry):
    ours, ratios = entry["systems"].get("fidibus"), ratios_of(entry)
    head = f"{entry['model']:22} {entry['threads']} thread{'s' if entry['threads'] > 1 else ' '} "
    if not ours:
        print(f"{head} fidibus absent: {entry['absent'].get('fidibus')}", flush=True)
        return
    best = fastest_rival(entry["systems"])
    verdict = f"{'ahead of' if ratios[best] >= 1 else 'BEHIND'} {best} {ratios[best]:.2f}" if best else "no rival"
    others = "  ".join(f"{name} {entry['systems'][name]['min_ms']:.2f} ({ratio:.2f})" for name, ratio in ratios.items())
    print(f"{head} fidibus {ours['min_ms']:8.2f} ms  {verdict:28} {others}", flush=True)


def geometric_mean(numbers):
    return math.exp(sum(math.log(n) for n in numbers) / len(numbers)) if numbers else float("nan")


def print_means(entries):
    for threads in sorted({e["threads"] for e in entries}):
        part = [e for e in entries if e["threads"] == threads and "fidibus" in e["systems"]]
        best = [ratios_of(e)[fastest_rival(e["systems"])] for e in part if fastest_rival(e["systems"])]
        print(f"{threads} thread{'s' if threads > 1 else ''}: geometric mean of the fastest rival's time over ours {geometric_mean(best):.2f} ({len(best)} models)")
        for name in [s.name for s in SYSTEMS if s.name != "fidibus"]:
            some = [ratios_of(e)[name] for e in part if name in e["systems"]]
            if some:
                print(f"  {name:16} {geometric_mean(some):.2f} ({len(some)} models)")


def print_absent(entries):
    reasons = {}
    for entry in entries:
        for name, reason in entry["absent"].items():
            reasons.setdefault((name, reason), set()).add(entry["model"])
    for (name, reason), models in sorted(reasons.items()):
        print(f"absent: {name} on {', '.join(sorted(models))}: {reason}")


# ---- Loading and memory: what the first result costs -------------------------------------------------------------------------------


def print_starts(entries):
    print("load to first result on one thread, and peak memory beyond the libraries:")
    for entry in (e for e in entries if e["threads"] == 1 and "fidibus" in e["systems"]):
        ours = entry["systems"]["fidibus"]
        start = lambda f: f["load_ms"] + f["first_ms"]
        bound = ours["file_bytes"] + ours["planned_bytes"]
        others = "  ".join(
            f"{name} {start(f):.0f} ms ({start(f) / start(ours):.1f}), {f['rss_bytes'] / 1e6:.0f} MB"
            for name, f in entry["systems"].items()
            if name in RIVALS
        )
        print(
            f"{entry['model']:22} fidibus {start(ours):.1f} ms, {ours['rss_bytes'] / 1e6:.1f} MB "
            f"(file and plan {bound / 1e6:.1f}, beyond them {(ours['rss_bytes'] - bound) / 1e6:+.1f})  {others}"
        )


def print_compiling(shop, name, rounds):
    archive, _ = prepare(shop, name)
    found = compiling(shop, archive, rounds)
    ours, theirs, size = found["fidibus"], found["upstream"], archive.stat().st_size
    print(
        f"compiling {name}: fidibus {ours['seconds'] * 1e3:.0f} ms, upstream to XNNPACK {theirs['seconds']:.1f} s, {theirs['seconds'] / ours['seconds']:.0f} times; "
        f"peak memory {ours['peak_bytes'] / size:.2f} times the archive, upstream {theirs['peak_bytes'] / 1e6:.0f} MB"
    )


def measure_layers(options, shop):
    """Single layers against the roof: the best of the rounds."""
    folder, found = shop.work / "layers", {}
    folder.mkdir(exist_ok=True)
    call([shop.python("torch"), HERE / "layers.py", folder], 600)
    for name, (promised, what) in layers.LAYERS.items():
        inputs = sorted(folder.glob(f"{name}.in*.npy"))
        found[name] = layer_of(shop, folder / f"{name}.pt2", 1, options.seconds, inputs, options.rounds) | {"promised": promised / 100, "what": what}
        f = found[name]
        print(f"{what:52} {f['ms']:8.3f} ms {f['gflops']:7.1f} GFLOP/s {f['gbytes']:6.1f} GB/s  {100 * f['reached']:.0f} % of the roof ({f['bound']}), wanted {promised} %", flush=True)
    return found


# ---- Regressions ---------------------------------------------------------------------------------------------------------------------

RATIOS = HERE / "ratios.json"


def committed(entries):
    """{model: {threads: {rival: ratio}}}: small, and comparable between machines of one kind."""
    table = {}
    for entry in entries:
        ratios = {name: round(ratio, 3) for name, ratio in ratios_of(entry).items() if name in RIVALS}
        if ratios:
            table.setdefault(entry["model"], {})[str(entry["threads"])] = ratios
    return table


def check(entries):
    """Says what got slower by over 10 % against the committed ratios; how many. One rival may have a bad day, so the median over rivals counts."""
    old, new, worse = json.loads(RATIOS.read_text()), committed(entries), 0
    for model, by_threads in new.items():
        for threads, ratios in by_threads.items():
            before = old.get(model, {}).get(threads, {})
            changes = sorted(ratios[name] / before[name] for name in ratios if name in before)
            if not changes:
                print(f"{model}, {threads} threads: nothing committed to compare with")
                continue
            change = changes[len(changes) // 2]
            if change < 0.9:
                print(f"REGRESSION: {model}, {threads} threads: {100 / change - 100:.0f} % slower against the rivals than committed")
                worse += 1
    print("no regression over 10 %" if not worse else f"{worse} regressions over 10 %")
    return worse


SLOW = [s.name for s in SYSTEMS if s.slow]


def merge(old, new):
    """Entries of an earlier run where this one has none of the same model and threads, and its figures of slow systems that this one left out."""
    known = {(e["model"], e["threads"]): e for e in old}
    for entry in new:
        before = known.pop((entry["model"], entry["threads"]), None)
        for name in SLOW:
            if before and name in before["systems"] and name not in entry["systems"] and name not in entry["absent"]:
                entry["systems"][name] = before["systems"][name]
    order = {name: i for i, name in enumerate(MODELS)}
    return sorted(new + list(known.values()), key=lambda e: (order.get(e["model"], 99), e["threads"]))


def read_options():
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__.splitlines()[0])
    parser.add_argument("--fidibus", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--work", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="an environment: torch, peers or litert")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--systems", nargs="*", default=DEFAULT_SYSTEMS, choices=[s.name for s in SYSTEMS])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of steady runs in one measurement")
    parser.add_argument("--conversion-seconds", type=float, default=600, help="that a rival may take to convert a model")
    parser.add_argument("--compiling", metavar="NAME", help="also time compiling this model, and upstream's lowering of it")
    parser.add_argument("--layers", action="store_true", help="also hold single layers against the roof")
    parser.add_argument("--check", action="store_true", help="compare with the committed ratios; fails on a regression over 10 %%")
    parser.add_argument("--commit", action="store_true", help="write bench/ratios.json")
    parser.add_argument("--merge", action="store_true", help="keep what WORK/bench.json has of other models and threads")
    parser.add_argument("--page", action="store_true", help="renew the tables and the plot of docs/performance.md")
    parser.add_argument("--no-run", action="store_true", help="measure nothing: use WORK/bench.json")
    return parser.parse_args()


def measure_all(options, shop):
    entries = []
    for name in options.models:
        try:
            archive, inputs = prepare(shop, name)
        except Absent as reason:
            print(f"{name:22} cannot be exported: {reason}")
            continue
        for threads in options.threads:
            systems = [s for s in SYSTEMS if s.name in options.systems]
            found, absent = measure(shop, archive, inputs, systems, threads, options.rounds, options.seconds)
            entries.append({"model": name, "threads": threads, "systems": found, "absent": absent, "when": time.strftime("%Y-%m-%d %H:%M")})
            if "fidibus" in found:
                entries[-1]["profile"] = roof_of(shop, archive.with_suffix(".fidibus.pte"), threads, options.seconds, inputs)
            print_entry(entries[-1])
    return entries


def main():
    options = read_options()
    options.work.mkdir(parents=True, exist_ok=True)
    pythons = dict(text.split("=", 1) for text in options.python)
    shop = Workshop(options.work.resolve(), options.fidibus.resolve(), pythons, options.conversion_seconds)
    path = options.work / "bench.json"
    old = json.loads(path.read_text()) if path.exists() and (options.merge or options.no_run) else {}
    entries = merge(old.get("entries", []), [] if options.no_run else measure_all(options, shop))
    single = measure_layers(options, shop) if options.layers or options.page and not options.no_run else old.get("layers", {})
    path.write_text(json.dumps({"machine": report.machine(), "entries": entries, "layers": single}, indent=1))
    (options.work / "bench.svg").write_text(plot.draw(entries))
    print_means(entries)
    print_starts(entries)
    print_absent(entries)
    if options.compiling:
        print_compiling(shop, options.compiling, options.rounds)
    print(f"wrote {path} and bench.svg")
    if options.commit:
        RATIOS.write_text(json.dumps(committed(entries), indent=1, sort_keys=True) + "\n")
    if options.page:
        report.renew(entries, single, options.work)
    sys.exit(1 if options.check and check(entries) else 0)


if __name__ == "__main__":
    main()
