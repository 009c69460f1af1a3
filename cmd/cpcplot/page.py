# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""The page of HTML: a table of what each command counted, curves over time, the tree of processes.

The page loads nothing.  Its script sorts the tables and the tree, and explains cells; styles switch the event of the tree.
"""
import base64
import collections
import hashlib
import html
import os
import re

from chart import axis, curves, heat, percent, stack
from model import human, largest, middle_cut, natural, pieces_of, rates_of, sums_of, tree_of, units_of, walk
from series import MAX_KEYS, MAX_LINES, OTHERS, name_of, order_of, samples_of

MOST = 2_000_000    # bytes of a page
MAX_DEPTH = 100     # of elements: browsers have a limit
BINS = 240          # of rates
MAX_COMMAND = 4095  # bytes of a command line in a record

try:
    PAGE
except NameError:  # not joined
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html"), encoding="utf-8") as page_file:
        PAGE = page_file.read()


class Detail:
    """How much a page shows.  A page that gets too large is made again with less."""

    def __init__(self, part):
        self.columns = 1140 // part  # of a plot: its pixels
        self.keys = max(MAX_KEYS // part, MAX_LINES)
        self.places = 512 // part    # CPUs
        self.rows = 1000 // part     # of a table
        self.nodes = 2000 // part    # of the tree
        self.text = 1000 // part     # characters of a name
        self.events = 256 // part
        self.bins = BINS // min(part, 8)


# ---- the table -----------------------------------------------------------------------------------

class Table:
    """`first`: title of the first column; `sums`: {name: {event: count}}, None if no count is known; `missing`:
    {(name, event)} with unknown counts; `counted`: {name: number of programs}, or None."""

    def __init__(self, first, sums, missing, counted, units):
        self.first, self.sums, self.missing, self.counted, self.units = first, sums, missing, counted, units
        self.lacking = {event for _, event in missing}
        self.totals = {event: sum(own.get(event) or 0 for own in sums.values()) for event in units}

    def share(self, own):
        return max((own.get(event) or 0) / total if total > 0 else 0 for event, total in self.totals.items())

    def cells(self, name, own, missing, counted):
        """The cells of a row."""
        cells = [f'<td title="{html.escape(name)}">{html.escape(middle_cut(name, 200))}</td>']
        if counted is not None:
            cells.append(f'<td data-v="{counted}">{counted}</td>')
        for event, unit in self.units.items():
            n, total = own.get(event), self.totals[event]
            share = f"{n / total:.1%}" if n is not None and total > 0 and event not in self.lacking else ""
            if event in missing and n is not None:
                share = "incomplete"
            title = "" if n is None else f' title="{html.escape(unit.exact(n))}"'
            cells.append(f'<td data-v="{-1 if n is None else n}"{title}>{html.escape(unit.human(n))} <small>{share}</small></td>')
        return "<tr>" + "".join(cells) + "</tr>"

    def missing_of(self, names):
        return {event for event in self.units if any((name, event) in self.missing for name in names)}

    def html(self, detail):
        main = next(iter(self.units))
        names = sorted(self.sums, key=lambda name: (name == OTHERS, -(self.sums[name].get(main) or 0), natural(name)))
        kept, rest = names, []
        if len(names) > detail.rows:
            big = set(sorted((name for name in names if name != OTHERS), key=lambda name: self.share(self.sums[name]), reverse=True)[:detail.rows])
            kept, rest = [name for name in names if name in big], [name for name in names if name not in big]
        columns = [self.first] + ["programs"] * (self.counted is not None) + list(self.units)
        head = "".join(f'<th scope="col" aria-sort="{"descending" if event == main else "none"}">{html.escape(middle_cut(event, detail.text))}</th>'
                       for event in columns)
        count = self.counted or {}
        rows = "".join(self.cells(middle_cut(name, detail.text), self.sums[name], self.missing_of([name]), count.get(name)) for name in kept)
        foot = ""
        if rest:
            sums = {}
            for event in self.units:
                known = [self.sums[name][event] for name in rest if self.sums[name].get(event) is not None]
                sums[event] = sum(known) if known else None
            foot = self.cells(OTHERS, sums, self.missing_of(rest), sum(count[name] for name in rest) if count else None)
        total = f"<td>{sum(count.values())}</td>" if self.counted is not None else ""
        total += "".join(f'<td title="{html.escape(unit.exact(self.totals[event]))}">{html.escape(unit.human(self.totals[event]))} '
                         f'<small>{"incomplete" * (event in self.lacking)}</small></td>' for event, unit in self.units.items())
        note = f"<p>The {len(kept)} largest of {len(names)}; {OTHERS} is the sum of the rest.</p>" if rest else ""
        return (f'{note}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
                f'<tfoot>{foot}<tr><td>total</td>{total}</tr></tfoot></table></div>')


def costs_of(trees):
    """(sums, missing, counted) of each command for a table, from the totals of processes."""
    sums, missing, counted = collections.defaultdict(dict), set(), collections.Counter()
    for number, (event, nodes) in enumerate(trees.items()):
        for node in nodes.values():
            if node.key[1] != 1 and (node.key[0], 1) in nodes:
                continue  # its process has its count
            for _, _, count, program, _, lacks in node.bars:
                counted[program] += number == 0
                sums[program].setdefault(event, None)
                if lacks:
                    missing.add((program, event))
                if count is not None:
                    sums[program][event] = (sums[program][event] or 0) + count
    return sums, missing, counted


# ---- the tree ------------------------------------------------------------------------------------

def argument_of(command):
    """The argument that tells most: the last one that is neither an option nor its value; of object files, the output."""
    words = [word.strip("\"'();&|") for word in command.split()]
    if len(command.encode(errors="replace")) >= MAX_COMMAND:
        words.pop()  # a part of a word
    plain = [(not before.startswith("-"), i) for i, (before, word) in enumerate(zip(words, words[1:]), 1)
             if word and word[0] not in "-<>" and ">" not in word]
    argument = words[max(plain)[1]] if plain else ""
    if argument.endswith((".o", ".s")) and "-o" in words[:-1]:
        argument = words[words.index("-o") + 1]
    return argument.rstrip("/").rsplit("/", 1)[-1]


def label_of(node):
    """The command and its argument, such as "cc1 net.c"; else the command and its id."""
    name = node.bars[-1][3] if node.bars else node.name
    argument = argument_of(node.command) if node.key[1] == 1 else ""
    return f"{name} {argument}" if argument else f"{name} {node.key[0]}" + (f"/{node.key[1]}" if node.key[1] != 1 else "")


class Tree:
    def __init__(self, trees, units, end):
        self.trees, self.units, self.end = trees, units, end
        self.nodes = walk(max(trees.values(), key=len))
        self.sums = [sums_of(walk(tree)) for tree in trees.values()]

    def bars(self, node, tops, detail):
        """The bars of a row; those that start in one pixel are added up."""
        own = [tree.get(node.key) for tree in self.trees.values()]
        pixels = collections.defaultdict(list)
        for j, (start, *_) in enumerate(node.bars):
            pixels[int(start / (self.end or 1) * detail.columns)].append(j)
        out = []
        for numbers in pixels.values():
            start, to = node.bars[numbers[0]][0], node.bars[numbers[-1]][1]
            shades, tip = "", [f"{start:.3f} s to {to:.3f} s"]
            for i, (event, unit) in enumerate(self.units.items()):
                bars = [own[i].bars[j] for j in numbers if own[i] is not None and j < len(own[i].bars)]
                known = [bar[2] for bar in bars if bar[2] is not None]
                shades += f"--s{i}:{max(sum(known), 0) / tops[i]:.3g};" if known else ""
                tip.append(f"{middle_cut(event, detail.text)} {unit.human(sum(known) if known else None)}" + ", incomplete" * (any(bar[5] for bar in bars) and bool(known)))
            command = node.bars[numbers[-1]][4] or node.bars[numbers[-1]][3]
            programs = f"{len(numbers)} programs, the last one {command}" if len(numbers) > 1 else command
            out.append(f'<i{"" if shades else " class=u"} style="left:{percent(start, self.end)};width:{percent(to - start, self.end)};{shades}" '
                       f'title="{html.escape(middle_cut(programs, detail.text // 2))}&#10;{html.escape(", ".join(tip))}"></i>')
        return "".join(out)

    def counts(self, values):
        """A number for each event, of which styles show one.  `values`: [(count or None, lacks)]."""
        return "".join(f'<span class="v v{i}{" lacks" * (lacks and count is not None)}" data-v="{-1 if count is None else count}">{html.escape(unit.human(count))}</span>'
                       for i, ((count, lacks), unit) in enumerate(zip(values, self.units.values())))

    def row(self, node, depth, tops, folds, detail):
        own = [tree.get(node.key) for tree in self.trees.values()]
        alone = [(None, True) if other is None else (other.total() if other.exact() is not None or other.total() else None, other.lacks()) for other in own]
        sums = [sums.get(node.key, (None, True)) for sums in self.sums]
        label, element = label_of(node), "summary" if folds else "div"
        tip = f"{node.command or label} ({node.key[0]}" + (f"/{node.key[1]})" if node.key[1] != 1 else ")")
        return (f'<{element} class="row" data-born="{node.born:.9g}"><span class="name" style="--d:{depth}" title="{html.escape(middle_cut(tip, detail.text))}">'
                f'{html.escape(middle_cut(label, 80))}</span><span class="count">{self.counts(alone)}</span><span class="count">{self.counts(sums)}</span>'
                f'<span class="bar">{self.bars(node, tops, detail)}</span></{element}>')

    def rest(self, listed):
        """The counts of the processes that are not listed."""
        keys, known = {node.key for node, _ in listed}, {node.key for node, _ in self.nodes}
        hidden = [key for key in known - keys if key[1] == 1 or (key[0], 1) not in known]
        found = [[tree[key] for key in hidden if key in tree] for tree in self.trees.values()]
        values = [(sum(node.total() for node in nodes), any(node.lacks() for node in nodes)) for nodes in found]
        return (f'<div class="row others"><span class="name" style="--d:0">{OTHERS}</span><span class="count">{self.counts(values)}</span>'
                f'<span class="count">{self.counts(values)}</span><span class="bar"></span></div>')

    def html(self, detail):
        listed = largest(self.nodes, detail.nodes)
        tops = [max([bar[2] for node in own.values() for bar in node.bars if bar[2] is not None], default=0) or 1 for own in self.trees.values()]
        out, open_at = [], []
        for i, (node, depth) in enumerate(listed):
            while open_at and open_at[-1] >= depth:
                out.append("</details>")
                open_at.pop()
            folds = depth < MAX_DEPTH and i + 1 < len(listed) and listed[i + 1][1] > depth
            out.append(("<details open>" if folds else "") + self.row(node, depth, tops, folds, detail))
            open_at += [depth] * folds
        out.append("</details>" * len(open_at))
        note = ""
        if len(listed) < len(self.nodes):
            note = f"<p>The {len(listed)} largest of {len(self.nodes)}; {OTHERS} is the sum of the rest, which sums with children include.</p>"
            out.append(self.rest(listed))
        head = ('<div class="row head"><span aria-sort="ascending">start</span><span aria-sort="none">self</span><span aria-sort="none">with children</span></div>')
        return f'{note}<div class="tree">{head}{axis(self.end)}{"".join(out)}</div>'


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

class ProcessSections:
    def __init__(self, rows, events, units, end):
        self.units, self.end = {event: units[event] for event in events}, end
        trees = {event: tree_of(rows, event, unit) for event, unit in self.units.items()}
        self.table = Table("command", *costs_of(trees), self.units)
        self.tree = Tree(trees, self.units, end)
        self.pieces = {event: pieces_of(rows, event, unit) for event, unit in self.units.items()}
        self.sums = {event: collections.Counter() for event in events}
        for event, pieces in self.pieces.items():
            for name, _, _, n in pieces:
                self.sums[event][name] += n
        first = next((sums for sums in self.sums.values() if sums), {})
        names = {name for sums in self.sums.values() for name in sums}
        self.order = sorted(sorted(names, key=natural), key=lambda name: -first.get(name, 0))

    def html(self, detail):
        out = ["<h2>Commands</h2>", self.table.html(detail)]
        for event, pieces in self.pieces.items():
            busy = ": 1 s is one busy CPU" if event.split(":")[0] == "task-clock" else ""
            if pieces:
                out += [f"<h2>{html.escape(middle_cut(event, detail.text))} per second{busy}</h2>",
                        stack(rates_of(pieces, self.end, detail.bins), self.sums[event], self.order, self.units[event], self.end, detail)]
        inputs, _ = event_choice([middle_cut(event, detail.text) for event in self.units])
        return out + ["<h2>Processes</h2>", inputs, self.tree.html(detail)]


class OwnerSections:
    """Sections of CPUs, services, ..."""

    def __init__(self, rows, events, units, end):
        self.end = end
        self.samples = samples_of(rows, "lwp", events)
        sums = collections.defaultdict(dict)
        for samples in self.samples.values():
            for name, own in samples.own.items():
                known = [count for count, *_ in own.values() if count is not None]
                sums[name][samples.event] = sum(known) if known else None
        missing = {(name_of(row, "lwp"), row.event) for row in rows if row.kind == "tick" and row.event and (row.count is None or row.lacks)}
        self.table = Table("name", sums, missing, None, {event: units[event] for event in events})

    def html(self, detail):
        out = []
        found = [samples.series(detail.columns) for samples in self.samples.values()]
        order = order_of(found) if found else []
        for series in found:
            if any(series.known(name) for name in series.names):
                out.append(f"<h2>{html.escape(middle_cut(series.event, detail.text))} {series.title()}</h2>")
                if len(order) > MAX_LINES:
                    drawn = series.folded(detail.places if series.are_places() else detail.keys)
                    if len(drawn.names) < len(series.names):
                        out.append(f"<p>The {len(drawn.names) - 1} largest of {len(series.names)}; {OTHERS} is the sum of the rest.</p>")
                    out.append(heat(drawn, self.end, detail))
                else:
                    out.append(curves(series, order, self.end, detail))
        return out + ["<h2>Sums of the samples</h2>", self.table.html(detail)]


def page_of(record, events, owned, end):
    """`owned`: the rows are of CPUs, services, ..., not of processes."""
    events = list(dict.fromkeys(events))
    units = units_of(record.rows)
    about = [record.start and f"since {record.start} UTC", human(end, "s"), record.problem,
             record.incomplete and "incomplete: some processes could not be counted"]
    head, script = PAGE.split("<script>")
    digest = base64.b64encode(hashlib.sha256(script.split("</script>")[0].encode()).digest()).decode()
    sections = None
    for part in (1, 2, 4, 8, 16, 32, 64):
        detail = Detail(part)
        if sections is None or len(shown) > detail.events:
            shown = events[:detail.events]
            sections = (OwnerSections if owned else ProcessSections)(record.rows, shown, units, end)
        few = f"the first {len(shown)} of {len(events)} events; -e chooses others" if len(shown) < len(events) else ""
        values = {"HASH": "sha256-" + digest, "TITLE": html.escape(middle_cut(record.title(), 10 * detail.text)), "CHOICE": event_choice(shown)[1],
                  "ABOUT": html.escape(", ".join(part for part in about + [few] if part)),
                  "BODY": "\n".join(sections.html(detail))}
        page = (re.sub("@([A-Z]+)@", lambda match: values[match[1]], head) + "<script>" + script).encode(errors="replace")
        if len(page) <= MOST:
            break
    return page
