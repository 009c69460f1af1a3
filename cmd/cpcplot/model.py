# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Units, series over time, and the tree of processes."""
import collections
import math

from read import fail

# ---- numbers for people ---------------------------------------------------------------------

PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))


def unit_of(unit, top):
    """(factor, name): values up to `top` times the factor have the unit `name`."""
    if unit == "s":
        for least, factor, name in ((1, 1, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "us")):
            if abs(top) >= least:
                return factor, name
        return 1e9, "ns"
    least, prefix = next((p for p in PREFIXES if abs(top) >= p[0] * 10 or unit and abs(top) >= p[0]), (1, ""))
    return 1 / least, (prefix + unit if len(unit) == 1 else f"{prefix} {unit}".strip())


def human(value, unit):
    """Three digits and the unit: 30.1 ms, 1.46 K."""
    if value is None:
        return "-"
    factor, name = unit_of(unit, value)
    scaled = value * factor
    digits = f"{scaled:.0f}" if abs(scaled) >= 100 or scaled == int(scaled) else f"{scaled:#.3g}"
    return f"{digits} {name}".rstrip() if abs(scaled) < 1e6 else f"{scaled:.3g} {name}".rstrip()


def ticks(low, top, unit, most=6):
    """[(value, text)]: round values from `low` or less to `top` or more, all in the same unit."""
    if not top > low:
        top = low + 1
    step = 10 ** math.floor(math.log10((top - low) / most))
    step *= next(n for n in (1, 2, 5, 10, 20) if (top - low) / (n * step) <= most)
    first, last = math.floor(low / step), math.ceil(top / step - 1e-9)
    factor, name = unit_of(unit, max(-first, last) * step * (1 + 1e-9))
    return [(i * step, f"{float(f'{i * step * factor:.6g}'):g} {name}".rstrip() if i else "0") for i in range(first, last + 1)]


def time_marks(end, most=10):
    """ticks() of a time axis that ends at `end`."""
    return [mark for mark in ticks(0, end, "s", most) if mark[0] <= end * 1.0001]


def natural(name):
    """A sort key: cpu 10 comes after cpu 9."""
    return [(0, int(part), "") if part.isdecimal() and len(part) < 20 else (1, 0, part) for part in name.replace("/", " ").split()]


# ---- series: for each event and each LWP, command or CPU, samples (from, to, count) -----------

MAX_LINES = 8  # of a plot: one for each colour; more series become a map


def name_of(row, by):
    if row["owner"]:
        return row["owner"]
    if by == "command" or not row["pid"]:
        return row["comm"] or "?"
    return f"{row['comm'] or '?'} {row['pid']}/{row['lwp']}"


def series_of(rows, by, rate):
    """{(event, unit): {name: [(from, to, count)]}}; unknown counts have no sample."""
    times = collections.defaultdict(set)
    sums = collections.defaultdict(lambda: collections.defaultdict(dict))
    spans = collections.defaultdict(float)
    for row in rows:
        if row["kind"] != "tick" or not row["event"]:
            continue
        key = row["event"], row["unit"]
        times[key].add(row["sec"])
        name = name_of(row, by)
        own = sums[key][name]
        if row["count"] is not None:
            own[row["sec"]] = own.get(row["sec"], 0) + row["count"] * row["scale"]
            spans[key, name, row["sec"]] = max(spans[key, name, row["sec"]], row["span"])
    series = {}
    for key, by_name in sums.items():
        order = sorted(times[key])
        before = dict(zip(order, [0.0] + order[:-1]))
        series[key] = {}
        for name, own in by_name.items():
            samples = []
            for t, n in sorted(own.items()):
                start = before[t]
                span = min(spans[key, name, t], t)
                if span and abs(t - span - start) > (t - start) * 0.05:
                    start = t - span  # it was born in this interval, or other specs had their turns
                samples.append((start, t, n / (t - start) if rate and t > start else n))
            series[key][name] = samples
    return series


def order_of(series):
    """The names of all series, in the order of the curves of the first event: the highest first."""
    names = sorted({name for by_name in series.values() for name in by_name}, key=natural)
    first = next(iter(series.values()))

    def height(name):
        samples = first.get(name, ())
        return sum(n for _, _, n in samples) / len(samples) if samples else -math.inf
    return sorted(names, key=height, reverse=True)


# ---- the tree of processes ----------------------------------------------------------------------

class Node:
    """A process, or one of its LWPs from the second on.

    A bar is (from, to, count, program, command line) of each program that it ran, for one event.
    """

    def __init__(self, key, born):
        self.key, self.born, self.name, self.command = key, born, "?", ""
        self.parent = None
        self.children = []
        self.bars = []
        self.open_at = born

    def close(self, at, count):
        if self.open_at is not None:
            self.bars.append((self.open_at, at, count, self.name, self.command))
            self.open_at = None

    def total(self):
        """The sum of the known counts."""
        return sum(bar[2] for bar in self.bars if bar[2] is not None)

    def exact(self):
        """None if a count is unknown, else the sum."""
        return None if any(bar[2] is None for bar in self.bars) else self.total()

    def label(self):
        programs = list(dict.fromkeys(bar[3] for bar in self.bars))
        return " > ".join(programs[-2:]) + f" {self.key[0]}/{self.key[1]}"


def tree_of(rows, event):
    """The nodes by (pid, lwp), with the counts of one event."""
    nodes = {}

    def add_node(key, born, parent=None):
        node = Node(key, born)
        if key in nodes:  # the id is used again: draw both in one row
            node.bars = nodes[key].bars
        if parent is not None:
            node.parent = parent
            node.name, node.command = parent.name, parent.command
        nodes[key] = node
        return node

    for row in rows:
        if row["event"] not in ("", event) or not row["pid"]:
            continue
        key, leader = (row["pid"], row["lwp"]), (row["pid"], 1)
        node = nodes.get(key)
        if node is None or (row["kind"] == "lwp_create" and node.open_at is None):
            born = row["sec"] if row["kind"] == "lwp_create" else nodes[leader].born if leader in nodes else 0.0
            node = add_node(key, born, nodes.get(leader))
        node.name = row["comm"] or node.name
        # The fork row of a killed parent can come after the rows of the child.
        late = bool(node.bars) and node.open_at is None
        if row["kind"] == "fork" and not late:
            add_node((row["child"], 1), row["sec"], node)
        elif row["kind"] == "image":
            first = nodes.get(leader) or add_node(leader, row["sec"])
            first.name, first.command, first.open_at = row["comm"] or row["command"], row["command"], row["sec"]
        elif row["kind"] in ("exec", "exit", "detach", "lwp_exit"):
            ended = node if row["kind"] == "lwp_exit" else nodes.get(leader, node)
            count = None if row["count"] is None else row["count"] * row["scale"]
            ended.close(row["sec"], count)
    if not nodes:
        owned = any(row["owner"] for row in rows)
        fail(f"cannot draw the tree: the rows are {'of CPUs or services, ' if owned else ''}not of processes")
    last = max((row["sec"] for row in rows), default=0)
    for node in nodes.values():
        node.close(max(last, node.born), None)
        node.parent = nodes.get(node.parent.key) if node.parent is not None else None
        if node.parent is node:
            node.parent = None
        if node.parent is not None:
            node.parent.children.append(node)
    cut_circles(nodes)
    for node in nodes.values():
        node.children.sort(key=lambda child: child.born)
    return nodes


def cut_circles(nodes):
    """Forged rows can make a process its own ancestor: such a process becomes a root."""
    seen = set()

    def visit(root):
        pending = [root]
        while pending:
            node = pending.pop()
            seen.add(node.key)
            pending += node.children
    for node in nodes.values():
        if node.parent is None:
            visit(node)
    for node in nodes.values():
        if node.key not in seen:
            node.parent.children.remove(node)
            node.parent = None
            visit(node)


def walk(nodes):
    """[(node, depth)] from the roots down, in the order of birth."""
    out = []
    pending = [(node, 0) for node in sorted(nodes.values(), key=lambda n: n.born, reverse=True) if node.parent is None]
    while pending:
        node, depth = pending.pop()
        out.append((node, depth))
        pending += [(child, depth + 1) for child in reversed(node.children)]
    return out


def largest(listed, most):
    """Of walk(): the nodes with the largest totals, and the nodes above them."""
    if len(listed) <= most:
        return listed
    keep = set()
    for node, _ in sorted(listed, key=lambda item: item[0].total(), reverse=True):
        if len(keep) >= most:
            break
        while node is not None and node.key not in keep:
            keep.add(node.key)
            node = node.parent
    return [(node, depth) for node, depth in listed if node.key in keep]


# ---- what each command counted, over time -----------------------------------------------------

def pieces_of(rows, event):
    """[(command, from, to, count)]: the samples of each LWP, and what it counted after the last of them.

    The total of a process is that of all its LWPs, so its pieces add up to it.
    """
    since = {}                              # start of the next piece, by LWP
    own = collections.defaultdict(float)    # count of the pieces so far, by LWP
    spent = collections.defaultdict(float)  # the same, by process
    pieces = []

    def add_piece(row, key, start, n):
        pieces.append((row["comm"] or "?", min(start, row["sec"]), row["sec"], n))
        own[key] += n
        spent[row["pid"]] += n

    for row in rows:
        if row["event"] not in ("", event):
            continue
        key, leader = (row["pid"], row["lwp"]), (row["pid"], 1)
        kind = row["kind"]
        if kind == "fork":
            since[row["child"], 1] = row["sec"]
            spent[row["child"]] = 0.0
        elif kind == "lwp_create":
            since[key] = row["sec"]
            own[key] = 0.0
        if row["count"] is None:
            continue
        count = row["count"] * row["scale"]
        if kind == "tick":
            add_piece(row, key, since.get(key, 0.0), count)
            since[key] = row["sec"]
        elif kind == "lwp_exit":
            add_piece(row, key, since.get(key, 0.0), count - own[key])
        elif kind in ("exec", "exit", "detach"):
            add_piece(row, leader, since.get(leader, 0.0), count - spent[row["pid"]])
            since[leader] = row["sec"]
            spent[row["pid"]] = 0.0
            for lwp in [k for k in (key, leader) if k in own]:
                own[lwp] = 0.0
    return pieces


def rates_of(pieces, end, bins):
    """{command: [count per second in each bin]}: the count of a piece is spread evenly over its time."""
    width = (end or 1) / bins
    out = collections.defaultdict(lambda: [0.0] * bins)
    for name, start, to, n in pieces:
        first, last = min(int(start / width), bins - 1), min(int(to / width), bins - 1)
        rates = out[name]
        if first == last:
            rates[last] += n / width
            continue
        for i in range(first, last + 1):
            part = min(to, (i + 1) * width) - max(start, i * width)
            rates[i] += n * max(part, 0) / (to - start) / width
    return out
