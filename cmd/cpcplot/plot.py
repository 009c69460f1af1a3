# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Plots by gnuplot, and maps of characters in the terminal, which gnuplot cannot draw."""
import os
import shutil
import subprocess
import textwrap

from read import fail, printable
from model import middle_cut, ticks, time_marks
from series import columns_of, top_of

SHADES = " .:-=+*#%@"  # not counted, 0, and the least to the most
COLOURS = ("#1f6fb4", "#d1495b", "#2a9d5c", "#7a4fa3", "#e07b28", "#1795a3", "#8c5a2b", "#6b7280")
UNKNOWN = "#9a9a9a"
ZERO = "#ffffff"
PALETTE = "0 '#b3d3ec', 0.5 '#4a90c4', 1 '#08306b'"
KINDS = {".svg": "svg noenhanced background rgb 'white' fname 'sans' size", ".png": "pngcairo noenhanced font 'sans,10' size"}


def shortened(string, most=60):
    return string if len(string) <= most else string[:most - 3] + "..."


def quoted(string, most=60):
    """A string of gnuplot.  Single quotes prevent expansion; gnuplot expands @name after some quotes within a string."""
    return "'" + (shortened(string, most) if most else string).replace("'", "'.\"\\047\".'") + "'"


def block(name, cells):
    """A block of data in a script of gnuplot."""
    return [f"${name} << EOD"] + [" ".join(f"{x:.9g}" for x in c) if c else "" for c in cells] + ["EOD"]


def tics(axis, marks):
    """gnuplot takes the labels of tics, and no other strings, for formats of numbers."""
    return f"set {axis}tics (" + ", ".join(f"{quoted(shortened(text).replace('%', '%%'), most=None)} {value:.9g}" for value, text in marks) + ")"


def steps(samples):
    """The points of a line that is level within a sample and interrupted between samples."""
    points, end = [], None
    for start, to, n, _ in samples:
        if start != end:
            points += [(), (start, n)] if points else [(start, n)]
        points.append((to, n))
        end = to
    return points


class Panel:
    """A part of a picture: `draw(number, legend)` returns its commands for gnuplot."""

    def __init__(self, title, height, names, marks):
        self.title, self.height = title, height
        self.left = max([len(shortened(name)) for name in names] + [len(text) for _, text in marks]) + 2
        self.right = 4


def boxes(name, cells):
    """A block of (from, to, row, height of a half, ...) as corners."""
    return block(name, [(a, b, y - half, y + half, *more) for a, b, y, half, *more in cells] or [(0, 0, 0, 0, 0)])


class Map(Panel):
    """Rows of (name, [(from, to, count or None, lacks)]) as rectangles, coloured by count.

    `forks` are lines (time, row of the parent, row of the child); `totals` has a (count, lacks) for each row, and may have
    more: (name, count, lacks) below the map.
    """

    def __init__(self, title, event, unit, rows, totals, forks=()):
        super().__init__(title, 150 + 16 * len(rows), [name for name, _ in rows], [])
        self.event, self.unit, self.rows, self.forks, self.totals = event, unit, rows, forks, totals
        self.right = 18
        self.top = top_of(rows)

    def draw(self, number, _legend):
        rows = self.rows
        cells = [(a, b, i, n, lacks) for i, (_, own) in enumerate(rows) for a, b, n, lacks in own]
        out = boxes(f"map{number}", [(a, b, i, 0.45, n * self.unit.scale) for a, b, i, n, _ in cells if n])
        out += boxes(f"zero{number}", [(a, b, i, 0.45, 0) for a, b, i, n, _ in cells if n == 0])
        # Of a sum that lacks counts, a line at the bottom is dark.
        out += boxes(f"dark{number}", [(a, b, i, 0.45) if n is None else (a, b, i + 0.36, 0.09) for a, b, i, n, lacks in cells if lacks])
        out += block(f"fork{number}", [(at, above, below - above) for at, above, below in self.forks] or [(0, 0, 0)])
        step = max(1, len(rows) // 64)
        # Blanks at the start of a name would be removed: no-break spaces indent it.
        names = [(i, name.replace("  ", "\u00a0\u00a0")) for i, (name, _) in enumerate(rows) if i % step == 0]
        marks = ticks(min(0, self.top * self.unit.scale), self.top * self.unit.scale, self.unit.name)
        left = max([len(shortened(name)) for _, name in names], default=0)

        def shape(name, colour):
            more = ":5" if colour == "palette" else ""
            return f"${name}{number} using (($1+$2)/2):(($3+$4)/2):1:2:3:4{more} with boxxyerror fs solid lc {colour}"
        out += [f"set yrange [{len(rows) - 0.5}:-0.5]", tics("y", names) + f" left offset character {-left},0 font ',9'",
                "set xlabel 'white: 0; light grey: not counted; dark grey: incomplete' font ',9'",
                "unset key", f"set cblabel {quoted(self.event)} offset 1.5", tics("cb", marks),
                f"set cbrange [{marks[0][0]:.9g}:{marks[-1][0]:.9g}]",
                f"plot $fork{number} using 1:2:(0):3 with vectors nohead lw 1 lc rgb '#b0b0b0', " +
                ", ".join([shape("map", "palette"), shape("zero", f"rgb '{ZERO}'"), shape("dark", f"rgb '{UNKNOWN}'")])]
        return out

    def shade(self, count, lacks):
        if lacks:
            return "?"
        if count == 0:
            return SHADES[1]
        return SHADES[2 + int(min(max(count, 0) / (max(self.top, 0) or 1), 1) * (len(SHADES) - 3))]

    def print_text(self, columns, end):
        lines = [(middle_cut(name, 32), cells, *total) for (name, cells), total in zip(self.rows, self.totals)]
        lines += [(name, (), count, lacks) for name, count, lacks in self.totals[len(self.rows):]]
        left = max(len(name) for name, *_ in lines)
        last = [" " + self.unit.human(count) + " ?" * (lacks and count is not None) for _, _, count, lacks in lines]
        width = max(10, columns - left - 3 - max(len(word) for word in last))
        print("\n".join(textwrap.wrap(f"{self.title}; '{SHADES[-1]}' is {self.unit.human(self.top)}, '{SHADES[2]}' the least above 0, "
                                      f"'{SHADES[1]}' 0, '?' incomplete, a blank: not counted", max(columns, 20))))
        for (name, cells, *_), total in zip(lines, last):
            line = [" "] * width
            for a, b, n, lacks in columns_of(cells, end, width):
                line[a:b] = self.shade(n, lacks) * (b - a)
            print(f"{name:<{left}} |{''.join(line)}|{total}")
        print(f"{'':<{left}}  0{f'{end:.3f} s':>{width - 1}}")


class Lines(Panel):
    """Curves: `by_name` is {name: [(from, to, value, lacks)]}."""

    def __init__(self, title, unit, by_name, order):
        values = [n for own in by_name.values() for _, _, n, _ in own]
        self.marks = ticks(min(values + [0]), max(values + [0]), unit.name)
        super().__init__(title, 320, [], self.marks)
        self.by_name, self.order = by_name, order
        self.right = max(len(shortened(name)) for name in order) + 10

    def draw(self, number, legend):
        out, plots = [], []
        for i, name in enumerate(self.order):
            # A curve below another one shows at both sides of it.
            width = 2.5 - 1.25 * i / max(1, len(self.order) - 1)
            line = f"lw {width:.3g} lc rgb '{COLOURS[i % len(COLOURS)]}' dt {1 + i // len(COLOURS)}"
            cells = self.by_name.get(name)
            if legend:
                plots.append(f"keyentry with lines {line} title {quoted(name)}")
            if cells:
                out += block(f"line{number}_{i}", steps(cells))
                plots.append(f"$line{number}_{i} using 1:2 with fsteps {line} notitle")
        lacking = [((a + b) / 2, n) for name in self.order for a, b, n, lacks in self.by_name.get(name, ()) if lacks]
        if lacking:
            out += block(f"dark{number}", lacking)
            plots.append(f"$dark{number} using 1:2 with points pt 7 ps 0.5 lc rgb '{UNKNOWN}' title 'incomplete'")
        out += [f"set yrange [{self.marks[0][0]:.9g}:{self.marks[-1][0]:.9g}]", tics("y", self.marks), "plot " + ", ".join(plots or ["0"])]
        return out


def size_of(path, panels, size):
    if path is None:
        columns, height = shutil.get_terminal_size((100, 30))
        return size or (columns, max(12, height - 2))
    return size or (1200, max(240, min(4000, 40 + sum(panel.height for panel in panels))))


def script_of(title, panels, end, path, size, names_output):
    """The input of gnuplot.  Without `names_output`, the picture goes to the standard output."""
    size = size_of(path, panels, size)
    room = size[0] - 2 if path is None else max(20, size[0] // 9)  # characters of a line
    kind = "dumb noenhanced size" if path is None else KINDS[os.path.splitext(path)[1]]
    out = ["set encoding utf8", f"set terminal {kind} {size[0]},{size[1]}"]
    if path is not None and names_output:
        out.append(f"set output {quoted(path, len(path))}")
    left = min(max(panel.left for panel in panels), room // 2)
    right = min(max(panel.right for panel in panels), room // 3)
    most = 5 if path is None else min(10, max(2, (size[0] - 8 * (left + right)) // 60))  # marks of the time
    out += [tics("x", time_marks(end, most)), f"set xrange [0:{end or 1:.9g}]", "set grid x", "set style fill solid noborder",
            f"set lmargin {left}", f"set palette defined ({PALETTE})"]
    if path is None:
        out += ["set key outside top center horizontal noenhanced", "set rmargin 3"]
    else:
        out += ["set key outside right top noenhanced", f"set rmargin {right}",
                f"set object 1 rectangle from graph 0,0 to graph 1,1 behind fc rgb '{'#e4e4e4' if isinstance(panels[0], Map) else '#f4f4f4'}' fs solid noborder"]
    several = len(panels) > 1
    if several:
        out.append(f"set multiplot layout {len(panels)},1 title {quoted(title, room)}" + " font ',13'" * (path is not None))
    for number, panel in enumerate(panels):
        if several:
            out.append(f"set title {quoted(panel.title, room)}")
        else:
            out.append(f"set title {quoted(shortened(title, max(20, room - len(panel.title) - 2)) + ': ' + panel.title, room)}")
        out += panel.draw(number, number == 0)
    return "\n".join(out + ["unset multiplot" if several else "", ""])


def gnuplot(script):
    try:
        ran = subprocess.run(["gnuplot", "-d", "-"], input=script.encode(errors="surrogateescape"), capture_output=True, check=False)
    except FileNotFoundError:
        fail("missing gnuplot (on Debian: gnuplot-nox)")
    except OSError as e:
        fail(f"cannot run gnuplot: {e.strerror}")
    if ran.returncode != 0:
        reason = [line.strip() for line in ran.stderr.decode(errors="replace").splitlines() if line.strip()]
        fail("gnuplot failed" + (f": {printable(reason[-1])}" if reason else ""))
    # Some viewers of SVG drop no-break spaces, too, at the start of a text: the indentation of the tree.
    return ran.stdout.replace(b"<svg", b'<svg xml:space="preserve"', 1) if ran.stdout.startswith(b"<?xml") else ran.stdout
