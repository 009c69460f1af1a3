#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""layers.py - compare the pictures of docs/layers.md with the sources.

A line of a ```layers block names folders, which end in a slash, or files. What a folder includes
must be on a lower line; what a file calls must not be on a higher one. All sources must be in a
picture. Files that the text or a ```walk block names must exist. Headers must not include each other
in a circle. Prints the differences, one per line.
"""

import glob
import graphlib
import os
import re

PAGE = "docs/layers.md"
ROOTS = ("cmd", "liblwps", "libcpc", "libpctx", "known")
# The folder behind a public header. Files of a library may include its own public headers.
PUBLIC = {"libcpc.h": "libcpc/set/", "libcpc_v1.h": "libcpc/v1/", "cpc_region.h": "libcpc/region/",
          "libpctx.h": "libpctx/"}


def pictures():
    """The ```layers blocks: [{entry: line number from the top}]."""
    found = []
    for block in re.findall(r"^```layers\n(.*?)^```", open(PAGE).read(), re.M | re.S):
        rank = {}
        for n, line in enumerate(block.splitlines()):
            for entry in line.split("  ")[0].split():
                rank[entry] = n
        found.append(rank)
    return found


def code(path):
    """The text of a source without its comments and strings."""
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', "", open(path).read(), flags=re.S)


def sources(folder):
    return sorted(path for path in glob.glob(folder + "/**/*.[ch]", recursive=True)
                  if not path.endswith((".bpf.c", ".skel.h")))


def includes(path):
    """The files that a source includes: paths, or names of public headers."""
    for mark, name in re.findall(r'^#include ([<"])([^>"]+)', open(path).read(), re.M):
        local = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if mark == '"' and os.path.exists(local):
            yield local
        elif name in PUBLIC:
            yield name


def entry_of(path, rank):
    """The longest folder of the picture that contains the file, or the folder of a public header."""
    if path in PUBLIC:
        return PUBLIC[path]
    folders = [entry for entry in rank if path.startswith(entry)]
    return max(folders, key=len) if folders else None


def check_folders(rank):
    for root in ROOTS:
        for path in sources(root):
            user = entry_of(path, rank)
            if user is None:
                print(f"{PAGE}: {os.path.dirname(path)} is missing")
                continue
            for name in includes(path):
                used = entry_of(name, rank)
                if name in PUBLIC and used.startswith(root + "/"):
                    continue
                if used in rank and used != user and rank[used] <= rank[user]:
                    print(f"{path} includes {name}, which is not below it in {PAGE}")


def check_files(rank):
    """A function belongs to the file that defines it, and is not seen where another is static."""
    names, where, static = re.compile(r"\b[a-z]\w+(?=\()"), {}, {}
    paths = glob.glob(os.path.dirname(next(iter(rank))) + "/*.c")
    for path in paths:
        if path not in rank:
            print(f"{PAGE}: {path} is missing")
        static[path] = set()
        for line in re.findall(r"^[a-z][^;{]*\)$", code(path), re.M):
            for name in names.findall(line)[:1]:
                if line.startswith("static"):
                    static[path].add(name)
                else:
                    where[name] = path
    for path in sorted(set(rank) & set(paths)):
        for name in sorted(set(names.findall(code(path))) - static[path]):
            used = where.get(name, path)
            if used != path and rank.get(used, 99) < rank[path]:
                print(f"{path} calls {name}() of {used}, which is above it in {PAGE}")
    for path in set(rank) - set(paths):
        print(f"{PAGE}: there is no {path}")


def check_headers():
    headers = [path for root in ROOTS for path in sources(root) if path.endswith(".h")]
    try:
        graphlib.TopologicalSorter({path: set(includes(path)) for path in headers}).prepare()
    except graphlib.CycleError as error:
        print("headers include each other in a circle:", *error.args[1])


def check_names():
    """Files that the page names by their paths, in a walk or in its text, exist."""
    text = open(PAGE).read()
    walks = "\n".join(re.findall(r"^```walk\n(.*?)^```", text, re.M | re.S))
    names = re.findall(r"^\S+", walks, re.M) + re.findall(r"`((?:%s)/[\w./*]+)`" % "|".join(ROOTS), text)
    for name in names:
        if not glob.glob(name):
            print(f"{PAGE}: there is no {name}")


for picture in pictures():
    if all(entry.endswith("/") for entry in picture):
        check_folders(picture)
    else:
        check_files(picture)
check_headers()
check_names()
