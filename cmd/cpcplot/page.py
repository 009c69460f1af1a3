# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""The page of HTML: a table of what each command counted, curves over time, the tree of processes.

The page loads nothing.  Its script only sorts the tables; styles switch the event of the tree.
"""
import base64
import collections
import hashlib
import html
import math
import os
import re

from model import MAX_LINES, human, largest, name_of, natural, order_of, pieces_of, rates_of, series_of, ticks, time_marks, tree_of, walk

MAX_ROWS = 2000  # of the tree
MAX_DEPTH = 100  # of elements: browsers have a limit
BINS = 240
LEFT, WIDTH, HEIGHT = 60, 1140, 200  # of a plot; its SVG has room for the numbers beside it

try:
    PAGE
except NameError:  # not joined
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html"), encoding="utf-8") as page_file:
        PAGE = page_file.read()


# ---- plots ------------------------------------------------------------------------------------

def plot(marks, end, body, height=HEIGHT):
    """An SVG with axes.  `marks`: [(position, text)] of the counts; position 0 is the bottom, 1 the top."""
    out = [f'<svg viewBox="0 0 {LEFT + WIDTH + 20} {height + 30}" role="img">']
    for at, text in marks:
        y = height + 5 - at * height
        out.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{html.escape(text)}</text>')
    out += body
    for value, text in time_marks(end):
        x = LEFT + value / (end or 1) * WIDTH
        out.append(f'<text x="{x:.1f}" y="{height + 22}" text-anchor="middle">{html.escape(text)}</text>')
    return "".join(out) + "</svg>"


def position(value, marks):
    """Where a value is between the first mark, 0, and the last, 1."""
    low, high = marks[0][0], marks[-1][0]
    return min(max((value - low) / (high - low), 0), 1)


def positions(marks):
    return [(position(value, marks), text) for value, text in marks]


def legend(names):
    items = "".join(f'<li><i style="background:var(--c{i})"></i>{html.escape(name)}</li>' for i, name in enumerate(names))
    return f'<ul class="key">{items}</ul>'


def stack(rates, order, unit, end):
    """Areas on top of each other, in the order of the legend from the top."""
    zero = [0.0] * BINS
    shown = [[max(n, 0) for n in rates.get(name, zero)] for name in order[:MAX_LINES - 1]]
    if len(order) >= MAX_LINES:
        shown.append([max(sum(column), 0) for column in zip(*(rates.get(name, zero) for name in order[MAX_LINES - 1:]))])
    marks = ticks(0, max(sum(column) for column in zip(*shown)), unit)
    base, body = zero, []
    for i, column in reversed(list(enumerate(shown))):
        top = [a + b for a, b in zip(base, column)]
        area = path_of(top, marks) + "L" + path_of(base, marks, back=True)[1:] + "Z"
        body.append(f'<path d="{area}" style="fill:var(--c{i})"><title>{html.escape(legend_names(order)[i])}</title></path>')
        base = top
    return plot(positions(marks), end, body)


def legend_names(order):
    """The names of the legend; if there are too many, the last one stands for the rest."""
    return order if len(order) <= MAX_LINES else order[:MAX_LINES - 1] + [f"{len(order) - MAX_LINES + 1} others"]


def path_of(column, marks, back=False):
    """A level line for each bin; from the last one with `back`."""
    points = [(j / BINS * WIDTH + LEFT, (j + 1) / BINS * WIDTH + LEFT, HEIGHT + 5 - position(n, marks) * HEIGHT) for j, n in enumerate(column)]
    if back:
        points = [(b, a, y) for a, b, y in reversed(points)]
    out, last = [], None
    for a, b, y in points:
        if f"{y:.1f}" != last:
            last = f"{y:.1f}"
            out.append(f"{'V' if out else f'M{a:.1f},'}{last}")
        out.append(f"H{b:.1f}")
    return re.sub(r"(H[0-9.]+)+(?=H)", "", "".join(out))


def curves(by_name, order, unit, end):
    values = [n for own in by_name.values() for _, _, n in own]
    marks = ticks(min(values + [0]), max(values + [0]), unit)
    body = []
    for i, name in enumerate(order):
        path, last = [], None
        for start, to, n in by_name.get(name, ()):
            y = HEIGHT + 5 - position(n, marks) * HEIGHT
            a, b = (LEFT + t / (end or 1) * WIDTH for t in (start, to))
            path.append(f"{'L' if last == start else 'M'}{a:.1f},{y:.1f}H{b:.1f}")
            last = to
        body.append(f'<path d="{"".join(path)}" style="fill:none;stroke-width:1.5;stroke:var(--c{i})"><title>{html.escape(name)}</title></path>')
    return plot(positions(marks), end, body)


def heat(by_name, unit, end):
    """A row for each series, whose counts are shades."""
    names = sorted(by_name, key=natural)
    height = min(18, max(4, 600 // len(names)))
    top = max((n for own in by_name.values() for _, _, n in own), default=0) or 1
    body, step = [], max(1, math.ceil(12 / height))
    for i, name in enumerate(names):
        for start, to, n in by_name[name]:
            a, b = (LEFT + t / (end or 1) * WIDTH for t in (start, to))
            body.append(f'<rect x="{a:.1f}" y="{5 + i * height}" width="{max(b - a, 1):.1f}" height="{height - 1}" '
                        f'style="fill:var(--hot)" opacity="{0.08 + 0.92 * max(n, 0) / top:.3f}"><title>{html.escape(name)}: {html.escape(human(n, unit))}</title></rect>')
    marks = [(1 - (i + 0.7) / len(names), name[:9]) for i, name in enumerate(names) if i % step == 0]
    note = f"<p>The strongest colour is {html.escape(human(top, unit))}.</p>"
    return note + plot(marks, end, body, height * len(names))


# ---- the table -----------------------------------------------------------------------------------

def table(first, sums, missing, counted, events, units):
    """`first`: title of the first column; `sums`: {name: {event: count}}, None if no count is known; `missing`:
    {(name, event)} with unknown counts; `counted`: {name: number of programs}, or None."""
    lacking = {event for _, event in missing}
    totals = {event: sum(own.get(event) or 0 for own in sums.values()) for event in events}
    order = sorted(sums, key=lambda name: (-(sums[name].get(events[0]) or 0), natural(name)))
    head = [f'<th scope="col" aria-sort="none">{first}</th>']
    if counted is not None:
        head.append('<th scope="col" aria-sort="none">programs</th>')
    head += [f'<th scope="col" aria-sort="{"none" if i else "descending"}">{html.escape(event)}</th>' for i, event in enumerate(events)]
    rows = []
    for name in order:
        cells = [f"<td>{html.escape(name)}</td>"]
        if counted is not None:
            cells.append(f'<td data-v="{counted[name]}">{counted[name]}</td>')
        for event in events:
            n = sums[name].get(event)
            share = f"{n / totals[event]:.1%}" if n is not None and totals[event] > 0 and event not in lacking else ""
            if (name, event) in missing and n is not None:
                share = "incomplete"
            cells.append(f'<td data-v="{-1 if n is None else f"{n:.9g}"}">{html.escape(human(n, units[event]))} <small>{share}</small></td>')
        rows.append("<tr>" + "".join(cells) + "</tr>")
    foot = ["<td>total</td>"] + ([f"<td>{sum(counted.values())}</td>"] if counted is not None else [])
    foot += [f"<td>{html.escape(human(totals[event], units[event]))} <small>{'incomplete' * (event in lacking)}</small></td>" for event in events]
    return (f'<table><thead><tr>{"".join(head)}</tr></thead><tbody>{"".join(rows)}</tbody>'
            f'<tfoot><tr>{"".join(foot)}</tr></tfoot></table>')


def costs_of(trees):
    """(sums, missing, counted) of each command for table(), from the totals of processes."""
    sums, missing, counted = collections.defaultdict(dict), set(), collections.Counter()
    for number, (event, nodes) in enumerate(trees.items()):
        for node in nodes.values():
            if node.key[1] != 1 and (node.key[0], 1) in nodes:
                continue  # its process has its count
            for _, _, count, program, *_ in node.bars:
                counted[program] += number == 0
                sums[program].setdefault(event, None)
                if count is None:
                    missing.add((program, event))
                else:
                    sums[program][event] = (sums[program][event] or 0) + count
    return sums, missing, counted


# ---- the tree ------------------------------------------------------------------------------------

def percent(part, end):
    return f"{min(max(part / (end or 1) * 100, 0), 100):.3f}%"


def row_of(node, depth, trees, units, tops, end, folds):
    """A row: the name, a total per event, of which styles show one, and the bars."""
    own = [trees[event].get(node.key) for event in trees]
    counts = []
    for i, (event, other) in enumerate(zip(trees, own)):
        total = other.exact() if other is not None else None
        counts.append(f'<span class="v v{i}">{html.escape(human(total, units[event]))}</span>')
    bars = []
    for j, (start, to, _, program, command) in enumerate(node.bars):
        values = [other.bars[j][2] if other is not None and j < len(other.bars) else None for other in own]
        shades = "".join(f"--s{i}:{max(n, 0) / tops[i]:.3f};" for i, n in enumerate(values) if n is not None)
        tip = ", ".join([f"{start:.3f} s to {to:.3f} s"] + [f"{event} {human(n, units[event])}" for event, n in zip(trees, values)])
        unknown = ' class="u"' if all(n is None for n in values) else ""
        bars.append(f'<i{unknown} style="left:{percent(start, end)};width:{percent(to - start, end)};{shades}" '
                    f'title="{html.escape(command or program)}&#10;{html.escape(tip)}"></i>')
    programs = list(dict.fromkeys(bar[3] for bar in node.bars))
    label = f"{programs[-1] if programs else node.name} {node.key[0]}" + (f"/{node.key[1]}" if node.key[1] != 1 else "")
    tip = node.command or label
    element = "summary" if folds else "div"
    return (f'<{element} class="row"><span class="name" style="--d:{depth}" title="{html.escape(tip)}">{html.escape(label)}</span>'
            f'<span class="count">{"".join(counts)}</span><span class="bar">{"".join(bars)}</span></{element}>')


def tree(trees, units, end):
    main = max(trees.values(), key=len)
    nodes = walk(main)
    listed = largest(nodes, MAX_ROWS)
    tops = [max([n for node in own.values() for _, _, n, *_ in node.bars if n is not None], default=0) or 1 for own in trees.values()]
    out, open_at = [], []
    for i, (node, depth) in enumerate(listed):
        while open_at and open_at[-1] >= depth:
            out.append("</details>")
            open_at.pop()
        folds = depth < MAX_DEPTH and i + 1 < len(listed) and listed[i + 1][1] > depth
        out.append(("<details open>" if folds else "") + row_of(node, depth, trees, units, tops, end, folds))
        open_at += [depth] * folds
    out.append("</details>" * len(open_at))
    marks = time_marks(end)
    axis = "".join(f'<span{" class=end" if at > end * 0.95 else ""} style="left:{percent(at, end)}">{html.escape(text)}</span>' for at, text in marks)
    note = f"<p>The {len(listed)} largest of {len(nodes)}; the table has all.</p>" if len(listed) < len(nodes) else ""
    return f'{note}<div class="tree"><div class="row axis"><span></span><span></span><span class="bar">{axis}</span></div>{"".join(out)}</div>'


def event_choice(events):
    """Radio buttons for the event of the tree, and the styles that show it."""
    styles = [".v0 { display: inline; } .bar i { --s: var(--s0, 0); }"]
    inputs = []
    for i, event in enumerate(events):
        checked = "" if i else " checked"
        inputs.append(f'<label><input type="radio" name="event" id="e{i}"{checked}> {html.escape(event)}</label>')
        if i:
            styles.append(f"body:has(#e{i}:checked) .v0 {{ display: none; }} body:has(#e{i}:checked) .v{i} {{ display: inline; }} "
                          f"body:has(#e{i}:checked) .bar i {{ --s: var(--s{i}, 0); }}")
    return f"<fieldset>{''.join(inputs)}</fieldset>" if len(events) > 1 else "", "\n".join(styles)


# ---- the page ------------------------------------------------------------------------------------

def process_sections(rows, events, units, end):
    trees = {event: tree_of(rows, event) for event in events}
    out = ["<h2>Commands</h2>", table("command", *costs_of(trees), events, units)]
    rates_by_event = {event: rates_of(pieces_of(rows, event), end, BINS) for event in events}
    rates_by_event = {event: rates for event, rates in rates_by_event.items() if rates}
    first = next(iter(rates_by_event.values()), {})
    order = sorted({name for rates in rates_by_event.values() for name in rates}, key=natural)
    order.sort(key=lambda name: sum(first.get(name, [])), reverse=True)
    for event, rates in rates_by_event.items():
        busy = ": 1 s is one busy CPU" if event.split(":")[0] == "task-clock" else ""
        out += [f"<h2>{html.escape(event)} per second{busy}</h2>", legend(legend_names(order)) if rates is first else "",
                stack(rates, order, units[event], end)]
    inputs, _ = event_choice(events)
    return out + ["<h2>Processes</h2>", inputs, tree(trees, units, end)]


def owner_sections(rows, events, units, end):
    series = {k: v for k, v in series_of(rows, "lwp", False).items() if k[0] in events}
    sums = collections.defaultdict(dict)
    for (event, _), by_name in series.items():
        for name, samples in by_name.items():
            sums[name][event] = sum(n for _, _, n in samples) if samples else None
    missing = {(name_of(row, "lwp"), row["event"]) for row in rows if row["kind"] == "tick" and row["event"] and row["count"] is None}
    out = []
    order = order_of(series) if series else []
    first = next((by_name for by_name in series.values() if any(by_name.values())), None)
    for (event, unit), by_name in series.items():
        if any(by_name.values()):
            out += [f"<h2>{html.escape(event)} per sample</h2>", legend(order) if len(order) <= MAX_LINES and by_name is first else "",
                    curves(by_name, order, unit, end) if len(order) <= MAX_LINES else heat(by_name, unit, end)]
    return out + ["<h2>Sums of the samples</h2>", table("name", sums, missing, None, events, units)]


def page_of(record, events, owned, end):
    """`owned`: the rows are of CPUs, services, ..., not of processes."""
    events = list(dict.fromkeys(events))
    units = {row["event"]: row["unit"] for row in record.rows}
    sections = owner_sections if owned else process_sections
    about = [record.start and f"since {record.start} UTC", human(end, "s"), record.problem,
             record.incomplete and "incomplete: some processes could not be counted"]
    head, script = PAGE.split("<script>")
    digest = base64.b64encode(hashlib.sha256(script.split("</script>")[0].encode()).digest()).decode()
    values = {"HASH": "sha256-" + digest, "TITLE": html.escape(record.title()), "CHOICE": event_choice(events)[1],
              "ABOUT": html.escape(", ".join(part for part in about if part)),
              "BODY": "\n".join(sections(record.rows, events, units, end))}
    page = re.sub("@([A-Z]+)@", lambda match: values[match[1]], head) + "<script>" + script
    return page.encode(errors="replace")
