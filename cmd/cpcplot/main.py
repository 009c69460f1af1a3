# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Options, and what is drawn where."""
import argparse
import errno
import os
import re
import shutil
import sys

from read import fail, printable, read, say
from model import labels_of, largest, middle_cut, ticks, tree_of, units_of, walk
from page import page_of
from plot import KINDS, Lines, Map, gnuplot, script_of
from series import MAX_KEYS, MAX_LINES, OTHERS, columns_of, end_of, order_of, samples_of
from write import write

MAX_NODES = 100  # of the tree in a picture

# completions/generate.awk reads this table, too.
OPTIONS = (
    ("b", "by", "lwp|command", "draw a series per LWP or per command"),
    ("e", "event", "EVENT", "draw only this event; may be repeated"),
    ("g", "gnuplot", None, "print the script for gnuplot instead of running it"),
    ("h", "help", None, "print this text"),
    ("", "html", None, "make a page of HTML with all views"),
    ("o", "output", "FILE", "write a picture or page: .svg, .png or .html"),
    ("r", "rate", None, "draw counts per second, not per sample"),
    ("S", "samples", None, "draw the samples, not the tree of processes"),
    ("s", "size", "WxH", "size of the picture in pixels, or of the terminal in characters"),
    ("t", "tree", None, "draw the tree of processes, also without forks"),
)


def parse():
    p = argparse.ArgumentParser(prog="cpcplot", description="draw what cputrack and cpustat counted", allow_abbrev=False, add_help=False)
    p.add_argument("file", metavar="FILE", nargs="?", default="-", help="csv or json of cputrack or cpustat; -: the standard input")
    for letter, name, argument, about in OPTIONS:
        names = ["-" + letter] * bool(letter) + ["--" + name]
        if argument is None:
            p.add_argument(*names, action="store_true", help=about)
        elif "|" in argument:
            p.add_argument(*names, choices=argument.split("|"), help=about)
        else:
            p.add_argument(*names, metavar=argument, action="append" if name == "event" else "store", help=about)
    p.error = lambda message: fail(f"{message}; cpcplot -h lists the options", 2)
    args, others = p.parse_known_args()
    if args.help:
        sys.stdout.write(p.format_help())  # argparse may ignore errors
        sys.exit(0)
    if others:
        if others[0].lstrip("-") in ("png", "svg") or os.path.splitext(others[0])[1] in (*KINDS, ".html"):
            fail(f"invalid argument '{printable(others[0])}': -o FILE writes a picture or page, such as -o counts.png", 2)
        if not others[0].startswith("-"):
            p.error(f"too many files: '{printable(args.file)}' and '{printable(others[0])}': a picture is of one")
        p.error(f"unknown option '{printable(others[0])}'")
    if args.file == "-" and sys.stdin is not None and sys.stdin.isatty():
        p.error("missing FILE: cputrack -O FILE COMMAND makes a record, and cpcplot FILE draws it")
    args.output = None if args.output == "-" else args.output  # as of cputrack
    ending = os.path.splitext(args.output or "")[1]
    args.html = args.html or ending == ".html"
    if args.html and (args.tree or args.samples or args.rate or args.by or args.gnuplot or args.size):
        fail("invalid options: a page has all views; it takes -e and -o only", 2)
    if args.html and args.output is None and sys.stdout.isatty():
        fail("cannot write a page to the terminal: use -o FILE.html", 2)
    if args.tree and (args.samples or args.rate or args.by):
        fail("invalid options: -t draws no samples, so it cannot go with -S, -r or -b", 2)
    if args.output is not None and not args.html and ending not in KINDS:
        fail(f"invalid output '{printable(args.output)}': expected a name that ends in .svg, .png or .html", 2)
    if args.size is not None:
        match = re.fullmatch("([0-9]{2,5})x([0-9]{2,5})", args.size, re.ASCII)
        if match is None or max(int(n) for n in match.groups()) > 20000:
            fail(f"invalid size '{printable(args.size)}': expected a width and a height up to 20000, such as 1200x800", 2)
        args.size = [int(n) for n in match.groups()]
    return args


MAX_PLACES = 512  # CPUs in a map


def shown_as(event, unit, values):
    """The event and its unit, with the prefix that the axis or colour bar has."""
    return f"{event}, {ticks(min(values + [0]), max(values + [0]), unit.name)[-1][1].split()[-1]}" if unit.name else event


def width_of(args):
    """The width of a plot: in pixels, or in characters of the terminal."""
    if args.output is not None or args.gnuplot:
        return max(10, (args.size[0] if args.size else 1200) * 11 // 20)  # beside names and colours
    return max(10, (args.size[0] if args.size else shutil.get_terminal_size((100, 30)).columns) - 45)


def tree_panel(args, rows, event, end):
    unit = units_of(rows)[event]
    nodes = walk(tree_of(rows, event, unit))
    listed = largest(nodes, MAX_NODES)
    at = {node.key: i for i, (node, _) in enumerate(listed)}
    forks = [(node.born, at[node.parent.key], at[node.key]) for node, _ in listed if node.parent is not None]
    drawn = args.output is not None or args.gnuplot
    least, width = end / 800, width_of(args)  # the least makes the shortest bars visible
    bars = []
    for node, depth in listed:
        cells = [(min(a, max(end - least, 0)), min(max(b, a + least), end), n, lacks) for a, b, n, _, _, lacks in node.bars]
        if len(cells) > width:
            cells = [(a / width * end, b / width * end, n, lacks) for a, b, n, lacks in columns_of(cells, end, width)]
        bars.append((middle_cut("  " * depth + node.label(), min(60, max(10, width // 12)) if drawn else 60), cells))
    some = f" (the {len(listed)} largest of {len(nodes)})" if len(listed) < len(nodes) else ""
    values = [n * unit.scale for _, cells in bars for _, _, n, _ in cells if n is not None]
    title = f"{shown_as(event, unit, values)}, total of each program{some}"
    totals = [(node.exact(), node.lacks()) for node, _ in listed]
    if some:
        known = {node.key for node, _ in nodes}
        rest = [node for node, _ in nodes if node.key not in at and (node.key[1] == 1 or (node.key[0], 1) not in known)]
        totals.append((OTHERS, sum(node.total() for node in rest), any(node.lacks() for node in rest)))
    return Map(title, event, unit, bars, totals, forks)


def sample_panels(args, rows):
    found = [samples.series(width_of(args)) for samples in samples_of(rows, args.by or "lwp", args.event).values()]
    if not any(series.known(name) for series in found for name in series.names):
        fail("missing samples: use cputrack -T SECS, or --tree, which draws without samples")
    order = order_of(found)
    panels = []
    for series in found:
        drawn = series.folded(MAX_PLACES if series.are_places() else MAX_KEYS) if len(order) > MAX_LINES else series
        unit, cells = drawn.unit, {}
        for name in drawn.names:
            cells[name] = [(c.start, c.to, c.count / c.time if args.rate and c.time else c.count, c.lacks) for c in drawn.known(name)]
        values = [n * unit.scale for own in cells.values() for _, _, n, _ in own]
        title = f"{shown_as(series.event, unit, values)} {series.title(args.rate)}"
        if len(order) > MAX_LINES:
            names = labels_of(drawn.names, min(40, max(10, width_of(args) // 12)) if args.output or args.gnuplot else 32)
            totals = [(drawn.total(name), drawn.lacks(name)) for name in drawn.names]
            panels.append(Map(title, series.event, unit, [(names[name], cells[name]) for name in drawn.names], totals))
        else:
            scaled = {name: [(a, b, n * unit.scale, lacks) for a, b, n, lacks in own] for name, own in cells.items()}
            panels.append(Lines(title, unit, scaled, order))
    return panels


def draw(args, title, panels, end):
    if args.output is None and not args.gnuplot and all(isinstance(panel, Map) for panel in panels):
        columns = args.size[0] if args.size else shutil.get_terminal_size((100, 30)).columns
        print(title if len(title) <= columns else title[:columns - 3] + "...")
        for panel in panels:
            panel.print_text(columns, end)
        return
    script = script_of(title, panels, end, args.output, args.size, args.gnuplot)
    if args.gnuplot:
        write(None, script.encode(errors="surrogateescape"))  # it may name a file
    else:
        write(args.output, gnuplot(script))


def main():
    args = parse()
    record = read(args.file)
    rows = record.rows
    known = list(dict.fromkeys(row.event for row in rows if row.event))
    for event in args.event or ():
        if event not in known:
            fail(f"unknown event '{printable(event)}': the file has {', '.join(known) or 'none'}")
    if not known:
        fail("missing counts: nothing to draw" + (f" ({record.problem})" if record.problem else ""))
    end = max(row.sec for row in rows)
    ticks = any(row.kind == "tick" and row.event for row in rows)
    owned = any(row.owner for row in rows) and (ticks or not any(row.pid for row in rows))
    forks = any(row.kind == "fork" for row in rows)
    if any(row.kind == "sum" for row in rows) and (args.html or args.tree or not ticks):
        fail("cannot draw a summary of --by; a record of -O of the same run can be drawn")
    if args.html:
        write(args.output, page_of(record, args.event or known, owned, end_of(rows) if owned else end))
    elif args.tree or not (owned or args.samples or args.rate or args.by or (ticks and not forks)):
        draw(args, record.title(), [tree_panel(args, rows, (args.event or known)[0], end)], end)
    else:
        draw(args, record.title(), sample_panels(args, rows), end_of(rows))
    if record.problem:
        say(f"{record.name}: {record.problem}")
        return 1
    return 0


def run():
    status = 1
    try:
        if sys.stdout is None:  # closed
            fail(f"cannot write the standard output: {os.strerror(errno.EBADF)}")
        sys.stdout.reconfigure(errors="replace")  # the locale may lack characters of names
        try:
            status = main()
        except SystemExit as e:  # of fail(): flush what was printed before
            status = e.code
        sys.stdout.flush()
    except OSError as e:  # of the standard output; other errors are reported where they occur
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if e.errno != errno.EPIPE:
            say(f"cannot write the standard output: {e.strerror}")
        status = 1
    except MemoryError:
        say("out of memory")
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()
