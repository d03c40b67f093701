"""Writes the tables of docs/performance.md between their markers, from the figures of a benchmark."""

import math
import os
import pathlib
import platform

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "performance.md"
ORDER = ["fidibus", "xnnpack", "onnxruntime", "openvino", "litert", "eager", "fidibus_xnnpack", "fidibus_bf16", "openvino_bf16", "portable"]
RIVALS = ["xnnpack", "onnxruntime", "openvino", "litert", "eager"]


def machine():
    """The processor and the system, in words."""
    model = platform.processor() or "unknown processor"
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def table(head, rows):
    return "\n".join(["| " + " | ".join(r) + " |" for r in [head, ["---"] + ["---:"] * (len(head) - 1), *rows]])


def latency(entries, threads):
    part = [e for e in entries if e["threads"] == threads and "fidibus" in e["systems"]]
    names = [n for n in ORDER if n != "fidibus" and any(n in e["systems"] for e in part)]
    rows = []
    for entry in part:
        ours = entry["systems"]["fidibus"]["min_ms"]
        best = min((f["min_ms"] for n, f in entry["systems"].items() if n in RIVALS), default=None)
        cells = [f"{entry['systems'][n]['min_ms'] / ours:.2f}" if n in entry["systems"] else "-" for n in names]
        rows.append([entry["model"], f"{ours:.2f}", f"{entry['systems']['fidibus']['median_ms']:.2f}" if "median_ms" in entry["systems"]["fidibus"] else "-", f"**{best / ours:.2f}**" if best else "-", *cells])
    return table(["model", "fidibus ms", "median", "fastest rival", *names], rows)


def start(entries):
    names = [n for n in ["fidibus", *RIVALS] if n != "eager"]
    rows = []
    for entry in (e for e in entries if e["threads"] == 1 and "fidibus" in e["systems"]):
        cells = []
        for name in names:
            f = entry["systems"].get(name)
            cells += [f"{f['load_ms'] + f['first_ms']:.1f}", f"{f['rss_bytes'] / 1e6:.0f}"] if f else ["-", "-"]
        ours = entry["systems"]["fidibus"]
        rows.append([entry["model"], f"{(ours['file_bytes'] + ours['planned_bytes']) / 1e6:.1f}", *cells])
    head = ["model", "file and plan MB"]
    for name in names:
        head += [f"{name} ms", "MB"]
    return table(head, rows)


def roof(entries):
    """What our own time is made of, on one thread: the profile's sums."""
    rows, part = [], [e for e in entries if e["threads"] == 1 and "profile" in e]
    peak = max((e["profile"]["roof"]["flops_per_s"] for e in part), default=1)
    for entry in part:
        p = entry["profile"]
        rate = p["flops"] / p["ms"] / 1e6
        lost = ", ".join(f"`{o['operator'].removesuffix('.out')}` {100 * o['lost']:.0f} % (reaches {100 * o['reached']:.0f} %)" for o in p["losses"] if o["lost"] > 0.015)
        rows.append([
            entry["model"], f"{p['flops'] / 1e9:.2f}", f"{rate:.0f}", f"{100 * rate * 1e9 / peak:.0f} %", f"{100 * p['least_ms'] / p['ms']:.0f} %", lost,
        ])  # fmt: skip
    return table(["model", "GFLOP", "GFLOP/s", "of peak", "of roof", "time lost under the roof"], rows)


def layers(single):
    rows = []
    for f in single.values():
        rows.append([f["what"], f"{f['ms']:.3f}", f"{f['gflops']:.0f}", f"{f['gbytes']:.1f}", f["bound"], f"{100 * f['reached']:.0f} %", f"{100 * f['promised']:.0f} %"])
    return table(["layer, one thread", "ms", "GFLOP/s", "GB/s", "bound by", "of roof", "wanted"], rows)


def means(entries):
    rows = []
    for threads in sorted({e["threads"] for e in entries}):
        part = [e for e in entries if e["threads"] == threads and "fidibus" in e["systems"]]
        names = [n for n in ORDER if n != "fidibus" and any(n in e["systems"] for e in part)]
        ours = lambda e: e["systems"]["fidibus"]["min_ms"]
        best = [min(f["min_ms"] for n, f in e["systems"].items() if n in RIVALS) / ours(e) for e in part if any(n in RIVALS for n in e["systems"])]
        cells = {n: [e["systems"][n]["min_ms"] / ours(e) for e in part if n in e["systems"]] for n in names}
        mean = lambda numbers: f"{math.exp(sum(map(math.log, numbers)) / len(numbers)):.2f}"
        rows.append([str(threads), f"**{mean(best)}**", str(sum(r >= 1 for r in best)) + f" of {len(best)}", ", ".join(f"{n} {mean(c)}" for n, c in cells.items())])
    return table(["threads", "fastest rival, geometric mean", "models ahead of all", "each rival"], rows)


def peak_lines(entries):
    """The machine's roof as it was measured beside the models: medians, since each model measures it anew."""
    lines = []
    for threads in sorted({e["threads"] for e in entries}):
        roofs = [e["profile"]["roof"] for e in entries if e["threads"] == threads and "profile" in e]
        if roofs:
            mid = lambda key: sorted(r[key] for r in roofs)[len(roofs) // 2] / 1e9
            lines.append(
                f"{threads} thread{'s' if threads > 1 else ''}: {mid('flops_per_s'):.0f} GFLOP/s ({roofs[0]['instructions']}), {mid('near_bytes_per_s'):.0f} GB/s "
                f"from a core's cache, {mid('far_bytes_per_s'):.0f} GB/s from beyond."
            )
    return "\n".join(lines)


def renew(entries, single, work):
    """Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->`."""
    page = PAGE.read_text()
    dates = sorted(e["when"] for e in entries)
    parts = {
        "machine": f"{machine()}; measured {dates[0]} to {dates[-1]}.",
        "latency-1": latency(entries, 1),
        "latency-2": latency(entries, 2),
        "means": means(entries),
        "roof": roof(entries),
        "peak": peak_lines(entries),
        "layers": layers(single),
        "start": start(entries),
    }
    for name, content in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = page.split(begin, 1)
        page = before + begin + "\n" + content + "\n" + end + rest.split(end, 1)[1]
    PAGE.write_text(page)
    (PAGE.parent / "performance.svg").write_text((work / "bench.svg").read_text())
