# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Series over time: for each event and each LWP, command, service or CPU, the sums of its samples."""
import collections
import math
import re

from model import Unit, natural

MAX_LINES = 8  # of a plot: one for each colour; more series become a map
MAX_KEYS = 50  # rows of a map; the others are added up
OTHERS = "(others)"


def name_of(row, by):
    if row.owner:
        return row.owner
    if by == "command" or not row.pid:
        return row.comm or "?"
    return f"{row.comm or '?'} {row.pid}/{row.lwp}"


class Cell:
    """The sum of the counts from `start` to `to`; None if none is known.

    `lacks`: a count is missing in it.  `time`: the seconds that were counted.
    """
    __slots__ = ("start", "to", "count", "lacks", "time")

    def __init__(self, start, to, count=None, lacks=False, time=0.0):
        self.start, self.to, self.count, self.lacks, self.time = start, to, count, lacks, time

    def add(self, other):
        self.start, self.to = min(self.start, other.start), max(self.to, other.to)
        if other.count is not None:
            self.count = (self.count or 0) + other.count
        self.lacks |= other.lacks


class Samples:
    """All samples of an event."""

    def __init__(self, first):
        self.event, self.unit = first.event, Unit(first.unit, first.scale)
        self.own = collections.defaultdict(dict)  # name: {second: [count or None, span, lacks]}

    def add(self, name, row):
        sample = self.own[name].setdefault(row.sec, [None, 0.0, False])
        if row.count is not None:
            sample[0] = (sample[0] or 0) + self.unit.raw(row.count, row.scale)
            sample[1] = max(sample[1], row.span)
        sample[2] |= row.lacks or row.count is None

    def grouping(self, most, times):
        """(samples in a group, number of groups or `most`, function from a second to its group): at most `most` groups.

        Groups have whole numbers of intervals: a steady load stays level.
        """
        first, last = times[0], times[-1]
        densest = max(self.own.values(), key=len)
        if len(densest) < 2 or max(densest) == min(densest):
            return 1, most, lambda t: t
        interval = (max(densest) - min(densest)) / (len(densest) - 1)
        intervals = round((last - first) / interval) + 1
        least = math.ceil(intervals / most)
        # Choose the number that leaves the last group the fullest.
        per = min(range(least, least + min(least, 50)), key=lambda n: -intervals % n / n)

        def group(t):
            return int((t - first) / interval + 0.5) // per
        if per == 1 and any(len({group(t) for t in own}) < len(own) for own in self.own.values()):
            return 1, most, lambda t: t  # irregular
        return per, most if per == 1 else math.ceil(intervals / per), group

    def series(self, most):
        times = sorted({t for own in self.own.values() for t in own})
        before = dict(zip(times, [0.0] + times[:-1]))
        per, columns, group = self.grouping(most, times)
        cells = {}
        for name, own in self.own.items():
            groups = cells[name] = {}
            for t, (count, span, lacks) in sorted(own.items()):
                start, span = before[t], min(span, t)
                if span and abs(t - span - start) > (t - start) * 0.05:
                    start = t - span  # it was born in this interval, or other specs had their turns
                cell = groups.setdefault(group(t), Cell(start, t))
                cell.add(Cell(start, t, count, lacks))
                if count is not None:
                    cell.time += t - start
        return Series(self.event, self.unit, per, columns, cells)


class Series:
    """The cells of an event: `cells` is {name: {group: Cell}}; each cell is the sum of up to `per` samples.

    `columns`: a picture as wide has a column for each group.
    """

    def __init__(self, event, unit, per, columns, cells):
        self.event, self.unit, self.per, self.columns, self.cells = event, unit, per, columns, cells
        self.names = sorted(cells, key=lambda name: (name == OTHERS, natural(name)))

    def known(self, name):
        """The cells with counts, in the order of time."""
        return [cell for _, cell in sorted(self.cells.get(name, {}).items()) if cell.count is not None]

    def total(self, name):
        """The exact sum; None if no count is known."""
        counts = [cell.count for cell in self.cells.get(name, {}).values() if cell.count is not None]
        return sum(counts) if counts else None

    def lacks(self, name):
        return any(cell.lacks for cell in self.cells.get(name, {}).values())

    def are_places(self):
        """CPUs and the like keep their order in a map."""
        return all(re.fullmatch(r"(cpu |core|socket|node)\d+|all", name) for name in self.cells)

    def folded(self, most):
        """The same with at most `most` names: the largest ones, sorted, and the sum of the others."""
        totals = {name: self.total(name) or 0 for name in self.cells}
        places = self.are_places()
        names = sorted(self.names, key=lambda name: (name == OTHERS, -totals[name]))
        if len(names) <= most:
            folded = Series(self.event, self.unit, self.per, self.columns, self.cells)
            folded.names = self.names if places else names
            return folded
        kept = [name for name in names[:most - 1] if name != OTHERS]
        rest = {}
        for name in names[len(kept):]:
            for group, cell in self.cells[name].items():
                rest.setdefault(group, Cell(cell.start, cell.to)).add(cell)
                rest[group].time = max(rest[group].time, cell.time)
        folded = Series(self.event, self.unit, self.per, self.columns, {**{name: self.cells[name] for name in kept}, OTHERS: rest})
        folded.names = (sorted(kept, key=natural) if places else kept) + [OTHERS]
        return folded

    def title(self, rate=False):
        """What a count is of."""
        return "per second" if rate else "per sample" if self.per == 1 else f"per {self.per} samples"


def end_of(rows):
    """The time of the last sample, or of the last row."""
    return max((row.sec for row in rows if row.kind == "tick" and row.event), default=0) or max(row.sec for row in rows)


def top_of(rows):
    """The largest count of rows (name, [(..., ..., count, ...)]): the top of a scale, which the sum of the others may exceed."""
    named = [own for name, own in rows if name != OTHERS] or [own for _, own in rows]
    return max((cell[2] for own in named for cell in own if cell[2] is not None), default=0)


def samples_of(rows, by, events=None):
    """{(event, unit): Samples} of all events, or of `events`."""
    found = {}
    for row in rows:
        if row.kind == "tick" and row.event and (events is None or row.event in events):
            key = row.event, row.unit
            if key not in found:
                found[key] = Samples(row)
            found[key].add(name_of(row, by), row)
    return found


def order_of(all_series):
    """The names of all series, in the order of the curves of the first event: the highest first."""
    first = all_series[0]
    means = {}
    for name in {name for series in all_series for name in series.cells}:
        cells = first.known(name)
        means[name] = sum(cell.count for cell in cells) / len(cells) if cells else -math.inf
    return sorted(sorted(means, key=natural), key=lambda name: -means[name])


def columns_of(cells, end, columns):
    """[(from, to, count, lacks)] in columns of a picture: cells that fall into one column are added up."""
    out = []
    for start, to, count, lacks in cells:
        a = min(int(start / (end or 1) * columns + 0.01), columns - 1)  # samples may be a little early
        b = min(max(a + 1, round(to / (end or 1) * columns)), columns)
        at = out[-1][1] if out else 0
        if a < at and (b <= at or at == columns):
            _, _, sum_, lacked = out[-1]
            known = [n for n in (sum_, count) if n is not None]
            out[-1] = out[-1][0], at, sum(known) if known else None, lacks or lacked or len(known) < 2
        else:
            out.append((max(a, at), b, count, lacks or count is None))
    return out
