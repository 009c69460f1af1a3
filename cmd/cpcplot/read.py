#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""cpcplot - draw what cputrack and cpustat counted.

read.py turns csv or json into rows; series.py turns rows into series over time, model.py into a tree of
processes; plot.py draws these by gnuplot or in the terminal, page.py and chart.py as a page of HTML.
CMake joins the parts, and page.html, into one program.
"""
import csv
import errno
import functools
import itertools
import json
import os
import shlex
import sys

MAX_LINE = 1 << 24  # characters; a record's lines are much shorter


def say(message):
    try:
        if sys.stderr is not None:  # not closed
            print(f"cpcplot: {message}", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Python writes to it again at its exit


def fail(message, status=1):
    say(message)
    sys.exit(status)


def printable(value):
    """Replaces unprintable characters: they could control a terminal."""
    return value if value.isprintable() else "".join(c if c.isprintable() else "?" for c in value)


@functools.lru_cache(1 << 16)
def text(value):
    """The cache also makes the rows share their strings: a record has millions of rows."""
    if not isinstance(value, str):
        raise ValueError
    return printable(value)


def whole(value, least, most):
    """An integer in a range."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError
    return value


def real(value, least, most):
    """A finite number in a range."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError
    return float(value)


CLOCKS = ("task-clock", "cpu-clock")  # these count nanoseconds
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Row:
    """One count of an event, or a birth or exec without an event.

    `owner`: the CPU, service, ... whose count it is, or "".  `lacks`: the count is incomplete.
    A file can be forged: the types and ranges of all values that are drawn are checked.
    """
    __slots__ = ("kind", "sec", "span", "pid", "lwp", "comm", "child", "command", "owner", "event", "count", "unit", "scale", "lacks")

    def __init__(self, row):
        self.kind, self.event, self.unit = text(row["kind"]), text(row["event"]), text(row["unit"])
        self.comm, self.command, self.owner = text(row["comm"]), text(row["command"]), text(row["owner"])
        self.pid, self.lwp, self.child = (whole(row[key], 0, 2**31 - 1) for key in ("pid", "lwp", "child"))
        self.sec = round(real(row["sec"], 0, 1e10), 9)
        self.span = real(row["span"], 0, 1e10)
        self.scale = real(row["scale"], 1e-12, 1e9)
        self.count = None if row["count"] is None else whole(row["count"], -2**63, 2**64 - 1)
        self.lacks = bool(row["lacks"])
        if not self.unit and self.event.split(":")[0] in CLOCKS:
            self.unit = "ns"
        if self.unit in SECONDS:
            self.scale *= SECONDS[self.unit]
            self.unit = "s"


# The exceptions for values of wrong types or ranges.
BAD = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, csv.Error)
UNITS = ("cpu", "core", "socket", "node", "pmu", "all", "cgroup", "service", "container", "user")


class Record:
    """The rows of a run, and what is known about it."""

    def __init__(self, name):
        self.name = name
        self.rows = []
        self.tool = self.command = self.host = self.start = ""
        self.incomplete = False  # some processes were not counted
        self.problem = ""        # why only a part of the file is drawn

    def title(self):
        what = self.command or os.path.basename(self.name)
        return f"{what} on {self.host}" if self.host else what


def command_of(words, path):
    """The command line without the option -O FILE that wrote this file."""
    for i, word in enumerate(words):
        value = words[i + 1] if word in ("-O", "--record") and i + 1 < len(words) else word.removeprefix("--record=").removeprefix("-O")
        if value != word and os.path.basename(value) == os.path.basename(path):
            return shlex.join(words[:i] + words[i + 1 + (value in words[i + 1:i + 2]):])
    return shlex.join(words)


def run_of(record, about):
    """Fills `record` from its first line, `about`.  Returns the events of each set, and the units that rows can have."""
    record.tool = text(about["tool"])
    record.command = command_of([text(word) for word in about["command"]], record.name)
    record.host = text(about.get("host", ""))
    record.start = text(about.get("start", ""))[:19].replace("T", " ")
    units = UNITS + ("command",) if about.get("unit") == "command" else UNITS
    return [{e["event"]: e for e in s["events"]} for s in about["sets"]], units


def key_text(kind, name):
    """The key as in tables: only fixed keys are in parentheses.  Old files have no kind."""
    if kind and kind != "name":
        return f"({kind})"
    if kind and name.startswith("("):
        return "\\050" + name[1:]
    return name or ("(empty)" if kind else "")


def owner_of(row, units):
    unit = next((u for u in units if u in row), None)
    if unit in (None, "all"):
        return unit or ""
    if "key_kind" in row:
        return key_text(text(row["key_kind"]), text(row[unit] or ""))
    if isinstance(row[unit], str):
        return row[unit]
    return unit + (" " if unit == "cpu" else "") + str(whole(row[unit], 0, 2**31 - 1))


def json_rows(row, sets, units):
    base = dict(kind=row["kind"], sec=row["ns"] / 1e9, span=row.get("span", 0) / 1e9, pid=row.get("pid", 0),
                lwp=row.get("lwp", 0), comm=row.get("comm", ""), child=row.get("child", 0),
                owner=owner_of(row, units), command=row.get("command", ""), lacks=row.get("incomplete", False))
    if "counts" not in row:
        yield Row(dict(base, event="", count=None, unit="", scale=1))
    for event, count in row.get("counts", {}).items():
        e = sets[row["set"]][event]
        yield Row(dict(base, event=event, count=count, unit=e["unit"], scale=e["scale"]))


def read_json(lines, record):
    sets = units = None
    ended = False
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            kind = row["kind"]
            if kind == "run" and sets is not None:
                record.problem = f"unsupported second run in line {number}: only the first one is drawn"
                return
            if kind == "run":
                sets, units = run_of(record, row)
            elif kind == "end":
                record.incomplete = bool(row.get("incomplete"))
            else:
                record.rows += json_rows(row, sets, units)
            ended = kind == "end"
        except BAD:
            if number == 1 or line.endswith("\n"):
                fail(f"{record.name}:{number}: invalid record of cputrack or cpustat")
            ended = False
    if not ended:
        record.problem = f"the record is cut off after line {number}"


def read_csv(lines, record):
    reader = csv.DictReader(lines)
    try:
        names = set(reader.fieldnames or ())
    except csv.Error:
        names = set()
    if not {"seconds", "kind", "cpu", "event", "count"} <= names:
        fail(f"{record.name}:1: invalid file: expected csv or json of cputrack or cpustat")
    while True:
        try:
            row = next(reader, None)
            if row is None:
                return
            if row.get("unit") == "ratio":
                continue  # series are sums, and ratios cannot be added
            cpu = row["cpu"]
            record.host = record.host or text(row.get("host") or "")
            record.rows.append(Row(dict(
                kind=row["kind"], sec=float(row["seconds"]), span=0, pid=int(row["pid"] or 0),
                lwp=int(row["lwp"] or 0), comm=row["comm"], child=int(row["child"] or 0),
                command=row["command"], owner=f"cpu {cpu}" if cpu.isdigit() else cpu or key_text(row.get("key_kind"), row.get("key") or ""),
                event=row["event"], count=int(row["count"]) if row["count"] else None,
                unit=row["unit"], scale=float(row["scale"] or 1), lacks=row.get("incomplete") == "1")))
        except BAD:
            fail(f"{record.name}:{reader.line_num}: invalid row of cputrack or cpustat")


def lines_of(file, record):
    """The lines of a file.  A line has a limit: a device can be one line without an end."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            fail(f"{record.name}:{number}: invalid file: a line has more than {MAX_LINE} characters")
        yield line


def read(path):
    record = Record(printable(path) if path != "-" else "the standard input")
    try:
        if path == "-" and sys.stdin is None:  # closed
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        with open(0 if path == "-" else path, encoding="utf-8", errors="replace", newline="\n") as file:
            lines = lines_of(file, record)
            first = next(lines, "")
            if not first:
                fail(f"{record.name}: empty file: expected csv or json of cputrack or cpustat")
            (read_json if first.startswith("{") else read_csv)(itertools.chain([first], lines), record)
    except OSError as e:
        quoted_name = record.name if path == "-" else f"'{record.name}'"
        fail(f"cannot read {quoted_name}: {e.strerror}")
    except ValueError:  # a NUL in the name
        fail(f"cannot read '{record.name}': invalid name")
    return record
