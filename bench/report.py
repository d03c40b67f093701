"""Writes the tables of docs/performance.md between their markers, from the figures of a benchmark."""

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
        rows.append([entry["model"], f"{ours:.2f}", f"{entry['systems']['fidibus']['median_ms']:.2f}", f"**{best / ours:.2f}**" if best else "-", *cells])
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
        rows.append([entry["model"], f"{ours['file_bytes'] / 1e6:.1f}", f"{ours['planned_bytes'] / 1e6:.1f}", *cells])
    head = ["model", "file MB", "plan MB"]
    for name in names:
        head += [f"{name} ms", "MB"]
    return table(head, rows)


def renew(entries, work):
    """Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->`."""
    page = PAGE.read_text()
    dates = sorted(e["when"] for e in entries)
    parts = {
        "machine": f"{machine()}; measured {dates[0]} to {dates[-1]}.",
        "latency-1": latency(entries, 1),
        "latency-2": latency(entries, 2),
        "start": start(entries),
    }
    for name, content in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = page.split(begin, 1)
        page = before + begin + "\n" + content + "\n" + end + rest.split(end, 1)[1]
    PAGE.write_text(page)
    (PAGE.parent / "performance.svg").write_text((work / "bench.svg").read_text())
