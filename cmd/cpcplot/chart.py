# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Maps and plots of the page.

Each series has its cells in the attribute data-v, from which the script makes the tooltips: cells are separated by commas,
and each is an exact sum, `?` if it is incomplete, and `*N` if it is N columns wide.  A cell without a sum was not counted.
"""
import base64
import html
import re
import struct
import zlib

from model import labels_of, middle_cut, ticks, time_marks, unit_of
from series import MAX_LINES, OTHERS, columns_of, top_of

LEVELS = 32
HEIGHT = 200  # of a plot


def percent(part, end):
    return f"{min(max(part / (end or 1) * 100, 0), 100):.6g}%"


def axis(end):
    """The class `near` is of marks that would touch the last one on a phone."""
    marks, out = time_marks(end), []
    for i, (at, text) in enumerate(marks):
        kind = " class=end" if 0 < i == len(marks) - 1 else " class=near" if at > end * 0.8 else ""
        out.append(f'<span{kind} style="left:{percent(at, end)}">{html.escape(text)}</span>')
    return f'<div class="row axis"><span class="bar">{"".join(out)}</span></div>'


def data_of(columns):
    """columns_of() as text; zeros side by side are one cell."""
    out, at = [], 0
    for a, b, count, lacks in columns:
        if a > at:
            out.append(["", a - at])
        word = f"{count}{'?' * lacks}"
        if word == "0" and out and out[-1][0] == "0":
            out[-1][1] += b - a
        else:
            out.append([word, b - a])
        at = b
    return ",".join(word + f"*{n}" * (n > 1) for word, n in out)


# ---- maps -------------------------------------------------------------------------------------

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def palette():
    """Not counted, 0, incomplete, and the levels: shades of blue that suit a light and a dark page."""
    colours = [(0, 0, 0, 0), (128, 128, 128, 40), (140, 140, 140, 255)]
    colours += [(31, 111, 180, 80 + 175 * i // (LEVELS - 1)) for i in range(LEVELS)]
    return colours


def picture(columns, width, top):
    """A PNG of one row; the lowest quarter of a cell is grey if it is incomplete."""
    above, below = bytearray(width), bytearray(width)
    for a, b, count, lacks in columns:
        level = 1 if count == 0 else 3 + int(min(max(count, 0) / (top or 1), 1) * (LEVELS - 1))
        for x in range(a, b):
            above[x], below[x] = level, 2 if lacks else level
    colours = palette()
    lines = (b"\0" + bytes(above)) * 3 + b"\0" + bytes(below)
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, 4, 8, 3, 0, 0, 0))
           + chunk(b"PLTE", bytes(x for *rgb, _ in colours for x in rgb)) + chunk(b"tRNS", bytes(alpha for *_, alpha in colours))
           + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(png).decode()


def area(kind, unit, end, columns, top):
    """The start of an element whose cells the script explains."""
    factor, name = unit_of(unit.name, top * unit.scale)
    raw = unit.exact("").strip()
    return (f'<div class="{kind}" data-columns="{columns}" data-end="{end:.9g}" data-factor="{factor * unit.scale:.9g}" '
            f'data-unit="{html.escape(name)}" data-raw="{html.escape(raw)}">')


def heat(series, end, detail):
    """A row for each name, whose counts are shades."""
    rows = [(name, columns_of([(c.start, c.to, c.count, c.lacks) for c in series.known(name)], end, series.columns)) for name in series.names]
    top = top_of(rows)
    labels = labels_of(series.names, 26)
    out = ['<p class="scale">' + "".join(f'<span><i style="background:{css}"></i>{html.escape(text)}</span> ' for css, text in (
        ("none", "not counted"), (shade_css(1), "0"), (shade_css(3), "least"), (shade_css(-1), series.unit.human(top)), (shade_css(2), "incomplete"))) + "</p>",
        area("map", series.unit, end, series.columns, top)]
    for name, columns in rows:
        total, lacks = series.total(name), series.lacks(name)
        exact = "" if total is None else html.escape(series.unit.exact(total)) + ", incomplete" * lacks
        out.append(f'<div class="row" data-v="{data_of(columns)}"><span class="name" title="{html.escape(middle_cut(name, detail.text))}">'
                   f'{html.escape(labels[name])}</span><span class="count{" lacks" * lacks}" title="{exact}">{html.escape(series.unit.human(total))}</span>'
                   f'<span class="bar"><img alt="" src="{picture(columns, series.columns, top)}"></span></div>')
    return "".join(out) + axis(end) + "</div>"


def shade_css(number):
    red, green, blue, alpha = palette()[number]
    return f"rgb({red} {green} {blue} / {alpha / 255:.2f})"


# ---- plots ------------------------------------------------------------------------------------

def position(value, marks):
    """Where a value is between the first mark, 0, and the last, 1."""
    low, high = marks[0][0], marks[-1][0]
    return min(max((value - low) / (high - low), 0), 1)


def plot(marks, end, columns, body):
    """Axes and `body`, paths in columns and a height.  `marks`: [(value, text)] of the counts."""
    lines = "".join(f'<path class="grid" d="M0,{HEIGHT * (1 - position(value, marks)):.1f}H{columns}"/>' for value, _ in marks)
    texts = "".join(f'<span class="y" style="top:{100 * (1 - position(value, marks)):.1f}%">{html.escape(text)}</span>' for value, text in marks)
    return (f'<div class="plot"><div class="bar"><svg viewBox="0 0 {columns} {HEIGHT}" preserveAspectRatio="none" role="img">{lines}{"".join(body)}'
            f'</svg>{texts}</div>{axis(end)}</div>')


def key(rows):
    """The legend: (name, label, data, total, lacks) of each curve."""
    items = "".join(f'<li title="{html.escape(name)}" data-v="{data}"><i style="background:var(--c{i})"></i>{html.escape(label)} '
                    f'<small{" class=lacks" * lacks}>{html.escape(total)}</small></li>' for i, (name, label, data, total, lacks) in enumerate(rows))
    return f'<ul class="key">{items}</ul>'


def curves(series, order, end, detail):
    scale, width = series.unit.scale, series.columns
    drawn = {name: columns_of([(c.start, c.to, c.count, c.lacks) for c in series.known(name)], end, width) for name in order}
    counts = [count for columns in drawn.values() for _, _, count, _ in columns]
    marks = ticks(min(counts + [0]) * scale, max(counts + [0]) * scale, series.unit.name)
    body = []
    for i, name in enumerate(order):
        path, last = [], None
        for a, b, count, lacks in drawn[name]:
            y = HEIGHT * (1 - position(count * scale, marks))
            path.append(f"{'V' if last == a else f'M{a},'}{y:.1f}H{b}")
            if lacks:
                body.append(f'<path class="dark" d="M{a},{y:.1f}H{b}"/>')
            last = b
        body.insert(0, f'<path d="{"".join(path)}" style="stroke:var(--c{i})"/>')
    labels = labels_of(order, 40)
    rows = [(middle_cut(name, detail.text), labels[name], data_of(drawn[name]), series.unit.human(series.total(name)), series.lacks(name)) for name in order]
    return area("curves", series.unit, end, width, max(counts + [0])) + key(rows) + plot(marks, end, width, body) + "</div>"


def stack(rates, sums, order, unit, end, detail):
    """Areas of counts per second on top of each other, in the order of the legend from the top."""
    bins = len(next(iter(rates.values())))
    zero = [0.0] * bins
    names = order if len(order) <= MAX_LINES else order[:MAX_LINES - 1] + [OTHERS]
    parts = [[name] for name in names] if len(order) <= MAX_LINES else [[name] for name in order[:MAX_LINES - 1]] + [order[MAX_LINES - 1:]]
    shown = [[max(sum(column), 0) * unit.scale for column in zip(*(rates.get(name, zero) for name in part))] for part in parts]
    top = max(sum(column) for column in zip(*shown))
    marks = ticks(0, top, unit.name)
    base, body = zero, []
    for i, column in reversed(list(enumerate(shown))):
        above = [a + b for a, b in zip(base, column)]
        body.append(f'<path d="{outline(above, marks)}L{outline(base, marks, back=True)[1:]}Z" style="fill:var(--c{i});stroke:none"/>')
        base = above
    labels = labels_of(names, 40)
    rows = [(middle_cut(name, detail.text), labels[name], ",".join(f"{n:.4g}" for n in column), unit.human(sum(sums.get(n, 0) for n in part)), False)
            for name, part, column in zip(names, parts, shown)]
    factor, prefixed = unit_of(unit.name, top)
    start = f'<div class="curves" data-columns="{bins}" data-end="{end:.9g}" data-factor="{factor:.9g}" data-unit="{html.escape(prefixed)} per second">'
    return start + key(rows) + plot(marks, end, bins, body) + "</div>"


def outline(column, marks, back=False):
    """A level line for each bin; from the last one with `back`."""
    points = [(j, j + 1, f"{HEIGHT * (1 - position(n, marks)):.1f}") for j, n in enumerate(column)]
    if back:
        points = [(b, a, y) for a, b, y in reversed(points)]
    out, last = [], None
    for a, b, y in points:
        if y != last:
            last = y
            out.append(f"{'V' if out else f'M{a},'}{y}")
        out.append(f"H{b}")
    return re.sub(r"(H[0-9.]+)+(?=H)", "", "".join(out))
