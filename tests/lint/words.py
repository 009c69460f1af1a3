#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""words.py [FILE|FOLDER...] - find sentences that are hard to read.

Reads the comments and strings of the sources and scripts, and the pages, and prints
"file:line: pattern: text" for each sentence with a pattern of PATTERNS. Exit status 1 if it
found any.
"""

import fnmatch
import re
import subprocess
import sys

PRONOUN = r"(?:(?:no|some|any|every)body|(?:some|any|every)one|no one)"
BE = r"(?:is|are|was|were|be|been)"
PREPOSITION = r"(?:of|by|from|than|with|for|about|except|but|beyond|after|behind)"

# Name, regular expression. Blanks in it match line breaks, too.
PATTERNS = [
    ("told", r"(?<![$_{])\btold\b(?! apart)"),
    ("tells of", r"\b(?:tells?|telling) (?:of|so|it|that)\b"),
    ("is none", r"(?<![Tt]here )\b" + BE + r" (?:it )?none\b|\bthere being (?:none|no)\b"),
    ("is no", r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|better\b|other\b)"),
    ("is wanted", BE + r" (?:not |all )?wanted\b"),
    ("is to be had", r"\bbe had\b"),
    ("is said", BE + r" (?:not |also |nothing )?said\b(?! to\b)"),
    ("that there are", r"\b(?:those|ones?|all|what|as|it|[a-z]+s)(?: of [a-z ]+)? (?<!says )that there (?:is|are|was|were)\b"
                       r"(?! (?:no|not|a|an|none|one|two|more|too|room|still|any)\b)"),
    ("all there is", r"\ball (?:that )?there (?:is|are|was|were)\b"),
    ("pronoun", r"(?<![$_{\"'=:`])\b" + PRONOUN + r"\b(?!:)"),
    ("who", r"(?<!users )(?<!user )(?<!users, )(?<!user, )(?<![-$_{])\b(?:who|whom|whoever)\b(?![^.;:!]*\?)"),
    ("others", r"(?:^|[.;:,(] |\b(?:and|or|but|if|when|where|while|as|that|which|what|by|of|for|from|to|with|until|unless) )"
               r"[Oo]thers\b(?!')"),
    ("of what", r"\b" + PREPOSITION + r" what\b(?![^.;:!]*\?)"),
    ("what is", r"(?:^|[.:;] )What (?:is|are|was|has|have|had|can|may|must|does|do|makes?|ends?|needs?)\b(?![^.]*\?)"),
    ("old-fashioned verb", r"\bmend(?:s|ed|ing)?\b|\bfinis\b|\banew\b|\btakes? (?:CAP_|root\b|privilege)"),
    ("the house", r"\bthe house\b"),
    ("former", r"\bthe former ones?\b|\bof old\b"),
]
PATTERNS = [(name, re.compile(regex, re.I if name in ("told", "pronoun", "who", "old-fashioned verb") else 0))
            for name, regex in PATTERNS]

# Where a pattern is right: file, text that the sentence matches, reason.
EXCEPTIONS = [
    ("tests/lint/words.py", "", "the patterns themselves"),
    ("*", r"\b(?:user|as|-u) nobody\b", "a user's name"),
    ("*", r"writable by others|others may write", "the class of users of a file's mode"),
    ("*", r"\b[Ss]ome\b.*\bothers\b", "some of them, and the others of them"),
    ("cmd/rows/row.c", r"^others$", "the name of a fixed key"),
    ("tests/bats/cpustat-largest.bats", r"others", "the name of a fixed key"),
    ("*", r"\bWhat is wrong\b", "the result of a check"),
    ("*", r"SPDX-License-Identifier|All rights reserved", "the license"),
]

PAGES = ("*.md", "man1/*", "man3/*", "man5/*", "man7/*", "tests/fuzz/README")
C = ("*.c", "*.h")
SCRIPTS = ("*.sh", "*.bash", "*.bats", "*.py", "*.awk", "*.cmake", "*.in", "*.yml", "*CMakeLists.txt")
SKIPPED = ("LICENSE", "CHANGELOG.md", "tests/fuzz/corpus/*", "*.skel.h", "*.json", "*.def", "*.dict")


def matches(path, globs):
    return any(fnmatch.fnmatch(path, glob) for glob in globs)


class Sentences:
    """Text in units that are read in one go, each a list of (line number, text)."""

    def __init__(self):
        self.units = [[]]

    def add(self, line, text):
        if text.strip():
            self.units[-1].append((line, text.strip()))

    def end(self):
        if self.units[-1]:
            self.units.append([])


def of_c(text, found):
    token = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
    line, at = 1, 0
    for match in token.finditer(text):
        between = text[at:match.start()]
        line += between.count("\n")
        word = match.group()
        if word.startswith('"'):
            if between.strip() and not re.fullmatch(r"\s*(?:PRI\w+)\s*", between):
                found.end()
            found.add(line, word[1:-1].replace("\\n", " ").replace("\\t", " "))
        elif word.startswith("/"):
            found.end()
            for n, part in enumerate(word.split("\n")):
                part = re.sub(r"^\s*(?:/\*+|//|\*(?!/))|\*/$", "", part)
                if not part.strip():
                    found.end()
                found.add(line + n, part)
            found.end()
        line += word.count("\n")
        at = match.end()
    found.end()


def of_script(text, found):
    """Comments, and strings; a string of several lines is its lines."""
    before = 0
    for n, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*#+!?(.*)", line)
        if comment:
            if before != n - 1 or not comment[1].strip():
                found.end()
            found.add(n, comment[1])
            before = n
            continue
        found.end()
        trailing = re.search(r"\s# (.*)", line)
        if trailing:
            found.add(n, trailing[1])
            found.end()
            line = line[:trailing.start()]
        for quoted in re.findall(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|(?:echo|printf) (.*)", line):
            found.add(n, "".join(quoted))
            found.end()
        if line.startswith("@test"):
            found.end()
    found.end()


def of_page(text, found):
    for n, line in enumerate(text.split("\n"), 1):
        if line.startswith('.\\"') or not line.strip() or re.match(r"\.(?:Pp|Sh|Ss|Bl|El|Bd|Ed|Dl|It)\b", line):
            found.end()
        if line.startswith("."):
            line = re.sub(r"^\.[A-Z][a-z]?\b|\b(?:Fl|Ar|Nm|Cm|Xr|Fn|Ql|Em|Sy|Pa|Ev|Dv|Er|Ns|Ic|Li)\b", "", line)
            line = re.sub(r' ([.,;:])', r"\1", line)
        found.add(n, line)
        if line.lstrip().startswith(("|", "#")):
            found.end()
    found.end()


def sentences(path, text):
    found = Sentences()
    if matches(path, PAGES):
        of_page(text, found)
    elif matches(path, C) or path.endswith((".h.in", ".l", ".y")):
        of_c(text, found)
    else:
        of_script(text, found)
    return found.units


def excepted(path, text):
    return any(fnmatch.fnmatch(path, glob) and (not regex or re.search(regex, text))
               for glob, regex, _reason in EXCEPTIONS)


def findings(path, text):
    for unit in sentences(path, text):
        joined, lines = "", []
        for number, part in unit:
            lines.append((len(joined), number))
            joined += part + " "
        for name, regex in PATTERNS:
            for match in regex.finditer(joined):
                begin = max(joined.rfind(". ", 0, match.start()) + 1, match.start() - 60, 0)
                end = joined.find(". ", match.end())
                end = min(len(joined) if end < 0 else end + 1, match.end() + 60)
                excerpt = joined[begin:end].strip()
                if not excepted(path, excerpt):
                    yield max(n for at, n in lines if at <= match.start()), name, excerpt


def main():
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"] + sys.argv[1:],
                           check=True, capture_output=True, text=True).stdout.split("\0")
    status = 0
    for path in sorted(set(filter(None, files))):
        if matches(path, SKIPPED):
            continue
        try:
            text = open(path).read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        if not matches(path, PAGES + C + SCRIPTS) and not re.match(r"#!.*(?:sh|bats|python)", text) and \
                not path.endswith("tests/skips"):
            continue
        for line, name, excerpt in sorted(findings(path, text)):
            print(f"{path}:{line}: {name}: {excerpt}")
            status = 1
    return status


sys.exit(main())
