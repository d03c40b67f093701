"""Draws the benchmark as an SVG without any library: for each model a row of bars, one a system, as shares of our time."""

# Colours that stay apart for most eyes, on light and on dark; ours first.
COLOURS = {"fidibus": "#0072b2", "litert": "#e69f00", "openvino": "#009e73", "onnxruntime": "#cc79a7", "xnnpack": "#d55e00", "eager": "#8c8c8c"}
BAR, GAP, LEFT, WIDTH, LIMIT = 9, 16, 170, 520, 4.0


def text(x, y, content, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{content}</text>'


def bars(y, entry):
    """The bars of one model; times over ours, cut at LIMIT."""
    parts, ours = [], entry["systems"]["fidibus"]["min_ms"]
    shown = [n for n in COLOURS if n in entry["systems"]]
    parts.append(text(LEFT - 8, y + BAR * len(shown) / 2 + 4, entry["model"], ' text-anchor="end"'))
    for name in shown:
        ms = entry["systems"][name]["min_ms"]
        width = WIDTH * min(ms / ours, LIMIT) / LIMIT
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[name]}"><title>{name} {ms:.2f} ms</title></rect>')
        label = f"{ms:.3g} ms" if name == "fidibus" else f"{ms / ours:.2f}"
        parts.append(text(LEFT + width + 4, y + BAR - 3, label, ' font-size="8"'))
        y += BAR
    return parts, y + GAP


def legend(y):
    parts, x = [], LEFT
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="{y - 8}" width="10" height="8" fill="{colour}"/>')
        parts.append(text(x + 14, y, name))
        x += 30 + 7 * len(name)
    return parts


def draw(entries):
    parts, y = legend(20), 40
    for threads in sorted({e["threads"] for e in entries}):
        parts.append(text(LEFT, y + 8, f"{threads} thread{'s' if threads > 1 else ''}: time over fidibus's", ' font-weight="bold"'))
        y += 20
        for entry in (e for e in entries if e["threads"] == threads and "fidibus" in e["systems"]):
            more, y = bars(y, entry)
            parts += more
        y += 10
    one = LEFT + WIDTH / LIMIT
    parts.append(f'<line x1="{one}" y1="30" x2="{one}" y2="{y - 10}" stroke="currentColor" stroke-dasharray="2 3" opacity="0.5"/>')
    style = "<style>svg{background:#fff;color:#222}text{fill:currentColor}@media(prefers-color-scheme:dark){svg{background:#16181c;color:#ddd}}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {y}" font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="Times of the rivals as multiples of fidibus\'s">{style}\n' + "\n".join(parts) + "\n</svg>\n"
    )
