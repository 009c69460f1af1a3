#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""manual.py prototypes|generic [--write] - compare the manual with the sources.

prototypes: the synopsis of exactly one page declares each public function as its header
does, and that page lists the name; pages declare no other functions.
generic: generic_events(3) lists the shipped definitions; --write updates the page.
Prints the differences, one per line.
"""

import collections
import glob
import re
import sys

# Functions that only inline functions of the headers use.
INTERNAL = re.compile(r"cpc_region_|cpc_pic_(register|thread|count)$")
BEGIN, END = '.\\" From libcpc/event/defs/generic.def:\n', '.\\" Up to here.\n'
PAGE = "man3/generic_events.3"
DEFS = "libcpc/event/defs/generic.def"


def normal(text):
    """A prototype with blanks in a fixed form."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ?([(),]) ?", r"\1", text)
    return re.sub(r" ?\* ?", "*", text)


def of_headers():
    """name -> prototype of each function and function type in the headers."""
    found = {}
    for path in sorted(glob.glob("include/*.h")):
        text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
        text = re.sub(r"^#(.*\\\n)*.*\n", "", text, flags=re.M)
        text = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", text).replace("static inline ", "")
        for kind, name, args in re.findall(
                r"^((?:typedef )?[\w *]+?[ *(])((?:cpc|pctx)_\w+|_lwp_self)\)?"
                r"(\((?:[^;{}]|\n)*?\))\s*[;{]", text, flags=re.M):
            if not kind.lstrip().startswith(("return", "else")) and not INTERNAL.match(name):
                found[name] = normal(kind.replace("(", " ")) + " " + name + normal(args)
    return found


def words(line):
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)]


def of_page(path):
    """The names that a page lists, and name -> prototype of its synopsis."""
    names, protos, kind, fo = [], {}, "", None
    for line in open(path).read().replace("\\-", "-").replace("\\&", "").splitlines():
        macro, *rest = words(line) or [""]
        if macro == ".Nm" and rest and rest[-1] in (",", rest[0]):
            names.append(rest[0])
        elif macro == ".It" and rest[:1] == ["Ft"] and "Fn" in rest:  # in one line
            at = rest.index("Fn")
            protos[rest[at + 1]] = (" ".join(["typedef"] + rest[1:at]), rest[at + 2:])
        elif macro == ".Ft":
            kind = " ".join(rest)
        elif macro == ".Fn" and kind:
            protos[rest[0].strip("()")] = (kind, rest[1:])
            kind = ""
        elif macro == ".Fo":
            fo = (rest[0].strip("()"), kind, [])
            kind = ""
        elif macro == ".Fa" and fo:
            fo[2].extend(rest)
        elif macro == ".Fc":
            protos[fo[0]] = (fo[1], fo[2])
            fo = None
    return names, {name: normal(kind) + " " + name + "(" + normal(",".join(args)) + ")"
                   for name, (kind, args) in protos.items()}


def prototypes():
    declared = of_headers()
    pages = collections.defaultdict(list)
    for path in sorted(glob.glob("man3/*.3")):
        names, protos = of_page(path)
        for name, proto in protos.items():
            pages[name].append(path)
            want = declared.get(name)
            if want is None:
                print(f"{path}: no header declares {name}")
            elif proto != want:
                print(f"{path}: {proto}\n  is declared: {want}")
            if not proto.startswith("typedef ") and name not in names:
                print(f"{path}: {name} is not among its names")
    for name in declared:
        if len(pages[name]) != 1:
            print(f"{name}: in the synopsis of {pages[name] or 'no page'}")


def definitions():
    """name -> [(PMUs, expression, description)], in the order of the file."""
    found, pmus = collections.defaultdict(list), None
    for line in open(DEFS):
        line = line.strip()
        if line.startswith("["):
            pmus = line[1:-1].split(",")
        elif line and not line.startswith("#"):
            names, rest = line.split(" = ", 1)
            expression, description = rest.split("  # ", 1)
            for name in names.split(", "):
                found[name].append((pmus, expression, description))
    return found


def generic_list():
    out = []
    for name, rows in sorted(definitions().items()):
        out.append(f".It Sy {name}\n")
        if rows[0][0] == ["none"]:
            out.append(f"{rows[0][2].capitalize()}.\nNo supported CPU counts this.\n")
            continue
        out.append(".Bl -tag -width Ds -compact\n")
        for pmus, expression, description in rows:
            where = "elsewhere" if pmus == ["*"] else " ".join(pmus)
            out.append(f".It {where}\n{description}:\n.Ql {expression}\n")
        out.append(".El\n")
    return "".join(out)


def generic(write):
    page = open(PAGE).read()
    head, _, rest = page.partition(BEGIN)
    now, _, tail = rest.partition(END)
    if write:
        open(PAGE, "w").write(head + BEGIN + generic_list() + END + tail)
    elif now != generic_list():
        print(f"{PAGE} differs from {DEFS}: run tests/lint/manual.py generic --write")


if sys.argv[1:] == ["prototypes"]:
    prototypes()
elif sys.argv[1:2] == ["generic"] and sys.argv[2:] in ([], ["--write"]):
    generic("--write" in sys.argv)
else:
    sys.exit(__doc__)
