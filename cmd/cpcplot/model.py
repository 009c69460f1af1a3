# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Units, names, and the tree of processes."""
import collections
import math
import os
import re

from read import SECONDS, fail

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
    """ticks() of a time axis that ends at `end`, with a mark there."""
    marks = ticks(0, end, "s", most)
    name = marks[-1][1].split()[-1]
    scaled = end / SECONDS[name]
    last = f"{scaled:.0f}" if scaled >= 1000 else f"{float(f'{scaled:.3g}'):g}"
    return [mark for mark in marks if mark[0] < end - marks[1][0] * 0.6] + [(end, f"{last} {name}" if end else "0")]


def natural(name):
    """A sort key: cpu 10 comes after cpu 9."""
    return [(0, int(part), "") if part.isdecimal() and len(part) < 20 else (1, 0, part) for part in re.findall(r"\d+|\D+", name)]


class Unit:
    """The unit of the counts of an event: a count times `scale` is in it."""

    def __init__(self, name, scale):
        self.name, self.scale = name, scale

    def raw(self, count, scale):
        """A count with another scale, in counts of this one."""
        return count if scale == self.scale else count * scale / self.scale

    def human(self, count):
        return human(None if count is None else count * self.scale, self.name)

    def exact(self, count):
        """All digits: 1460, 30100021 ns."""
        if self.scale == 1:
            return f"{count} {self.name}".rstrip()
        small = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3} if self.name == "s" else {}
        name = next((name for name, scale in small.items() if math.isclose(scale, self.scale)), None)
        return f"{count} {name}" if name else f"{count} * {self.scale:g} {self.name}".rstrip()


# ---- names ------------------------------------------------------------------------------------

def middle_cut(name, most):
    """At most `most` characters, with more of the end than of the start: "/system.sl...nit-07.service"."""
    head = (most - 1) // 3
    return name if len(name) <= most else name[:head] + "\u2026" + name[len(name) - (most - 1 - head):]


def common(names, ends):
    """The length of the start that all names have in common, up to one of `ends`, if any is given."""
    length = len(os.path.commonprefix(names))
    while ends and length and names[0][length - 1] not in ends:
        length -= 1
    return length


def labels_of(names, most, ends="/. "):
    """{name: label}: at most `most` characters each; of long names, those that differ."""
    labels = {name: name for name in names}
    long = [name for name in names if len(name) > most]
    start = common(long, ends.replace(".", "")) if len(long) > 1 else 0
    rest = [name[start:][::-1] for name in long]
    end = common(rest, ends) if len(long) > 1 else 0
    end = min(end, min((len(name) - 1 for name in rest), default=0))
    groups = collections.defaultdict(list)
    for name in long:
        core = middle_cut(name[start:len(name) - end], max(most - (start > 0) - (end > 0), 3))
        labels[name] = "\u2026" * (start > 0) + core + "\u2026" * (end > 0)
        groups[labels[name]].append(name)
    for group in groups.values():
        if len(group) > 1 and (ends or len(group) < len(names)):
            labels.update(labels_of(group, most, ""))
    return labels


# ---- the tree of processes ----------------------------------------------------------------------

class Node:
    """A process, or one of its LWPs from the second on.

    A bar is (from, to, count, program, command line, lacks) of each program that it ran, for one event.
    """

    def __init__(self, key, born):
        self.key, self.born, self.name, self.command = key, born, "?", ""
        self.parent = None
        self.children = []
        self.bars = []
        self.open_at = born

    def close(self, at, count, lacks=False):
        if self.open_at is not None:
            self.bars.append((self.open_at, at, count, self.name, self.command, lacks or count is None))
            self.open_at = None

    def total(self):
        """The sum of the known counts."""
        return sum(bar[2] for bar in self.bars if bar[2] is not None)

    def exact(self):
        """None if a count is unknown, else the sum."""
        return None if any(bar[2] is None for bar in self.bars) else self.total()

    def lacks(self):
        return any(bar[5] for bar in self.bars)

    def label(self):
        programs = list(dict.fromkeys(bar[3] for bar in self.bars))
        return " > ".join(programs[-2:]) + f" {self.key[0]}/{self.key[1]}"


def units_of(rows):
    """{event: Unit}"""
    units = {}
    for row in rows:
        if row.event and row.event not in units:
            units[row.event] = Unit(row.unit, row.scale)
    return units


def tree_of(rows, event, unit):
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
        if row.event not in ("", event) or not row.pid:
            continue
        key, leader = (row.pid, row.lwp), (row.pid, 1)
        node = nodes.get(key)
        if node is None or (row.kind == "lwp_create" and node.open_at is None):
            born = row.sec if row.kind == "lwp_create" else nodes[leader].born if leader in nodes else 0.0
            node = add_node(key, born, nodes.get(leader))
        node.name = row.comm or node.name
        # The fork row of a killed parent can come after the rows of the child.
        late = bool(node.bars) and node.open_at is None
        if row.kind == "fork" and not late:
            add_node((row.child, 1), row.sec, node)
        elif row.kind == "image":
            first = nodes.get(leader) or add_node(leader, row.sec)
            first.name, first.command, first.open_at = row.comm or row.command, row.command, row.sec
        elif row.kind in ("exec", "exit", "detach", "lwp_exit"):
            ended = node if row.kind == "lwp_exit" else nodes.get(leader, node)
            ended.close(row.sec, None if row.count is None else unit.raw(row.count, row.scale), row.lacks)
    if not nodes:
        owned = any(row.owner for row in rows)
        fail(f"cannot draw the tree: the rows are {'of CPUs or services, ' if owned else ''}not of processes")
    last = max((row.sec for row in rows), default=0)
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


def sums_of(listed):
    """{key: (sum, lacks)} of walk(): the counts of a process and of all its descendants.

    The count of an LWP is a part of that of its process.
    """
    sums, below = {}, {}
    for node, _ in reversed(listed):
        more = [(below if child.key[0] == node.key[0] else sums)[child.key] for child in node.children]
        below[node.key] = sum(n for n, _ in more), any(lacks for _, lacks in more)
        sums[node.key] = node.total() + below[node.key][0], node.lacks() or below[node.key][1]
    return sums


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

def pieces_of(rows, event, unit):
    """[(command, from, to, count)]: the samples of each LWP, and what it counted after the last of them.

    The total of a process is that of all its LWPs, so its pieces add up to it.
    """
    since = {}                              # start of the next piece, by LWP
    own = collections.defaultdict(int)      # count of the pieces so far, by LWP
    spent = collections.defaultdict(int)    # the same, by process
    pieces = []

    def add_piece(row, key, start, n):
        pieces.append((row.comm or "?", min(start, row.sec), row.sec, n))
        own[key] += n
        spent[row.pid] += n

    for row in rows:
        if row.event not in ("", event):
            continue
        key, leader = (row.pid, row.lwp), (row.pid, 1)
        kind = row.kind
        if kind == "fork":
            since[row.child, 1] = row.sec
            spent[row.child] = 0
        elif kind == "lwp_create":
            since[key] = row.sec
            own[key] = 0
        if row.count is None:
            continue
        count = unit.raw(row.count, row.scale)
        if kind == "tick":
            add_piece(row, key, since.get(key, 0.0), count)
            since[key] = row.sec
        elif kind == "lwp_exit":
            add_piece(row, key, since.get(key, 0.0), count - own[key])
        elif kind in ("exec", "exit", "detach"):
            add_piece(row, leader, since.get(leader, 0.0), count - spent[row.pid])
            since[leader] = row.sec
            spent[row.pid] = 0
            for lwp in [k for k in (key, leader) if k in own]:
                own[lwp] = 0
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
