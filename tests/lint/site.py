#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""site.py DIRECTORY - check the HTML that scripts/site wrote.

Each link leads to a file, and its fragment to an id; each page is reachable from index.html; no page
has scripts or loads anything from elsewhere. Prints the findings; exit status 1 if there are any.
"""

import os
import sys
import urllib.parse
from html.parser import HTMLParser

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
LOADS = {("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.links, self.open, self.findings, self.title = path, set(), [], [], [], ""
        with open(path) as file:
            self.feed(file.read())
        self.close()
        if self.open:
            self.find(f"not closed: {self.open}")
        if not self.title.strip():
            self.find("no title")

    def find(self, text):
        self.findings.append(f"{self.path}:{self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "script" or any(name.startswith("on") for name in attrs):
            self.find("a script")
        if tag == "a" and "href" in attrs and "a" in self.open:
            self.find("a link inside a link")
        for name in ("href", "src", "data"):
            if name in attrs:
                if (tag, name) in LOADS and urllib.parse.urlsplit(attrs[name]).netloc:
                    self.find(f"loads {attrs[name]}")
                self.links.append((self.getpos()[0], attrs[name]))
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.find(f"the id twice: {attrs['id']}")
            self.ids.add(attrs["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        # The end tags of paragraphs and list items are optional.
        while self.open and self.open[-1] != tag and self.open[-1] in ("p", "li", "dt", "dd"):
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.find(f"unexpected </{tag}>")

    def handle_data(self, data):
        if "title" in self.open:
            self.title += data
        if not {"pre", "code"} & set(self.open) and ("|---" in data or "```" in data or "](" in data):
            self.find(f"markdown is left: {data.strip()[:60]}")


def target(path, link):
    """The file and the fragment of a link, or None if it leads to another site."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    file = os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)) if parts.path else path
    return os.path.normpath(file), urllib.parse.unquote(parts.fragment)


def main():
    top = os.path.normpath(sys.argv[1])
    names = [os.path.join(folder, name) for folder, _, files in os.walk(top) for name in files if name.endswith(".html")]
    pages = {name: Page(name) for name in names}
    findings = [finding for page in pages.values() for finding in page.findings]
    for path, page in pages.items():
        for line, link in page.links:
            to = target(path, link)
            if to is None:
                continue
            if not os.path.isfile(to[0]) or not to[0].startswith(top + os.sep):
                findings.append(f"{path}:{line}: leads nowhere: {link}")
            elif to[1] and to[1] not in pages[to[0]].ids:
                findings.append(f"{path}:{line}: no such place in the page: {link}")
    seen, todo = set(), [os.path.join(top, "index.html")]
    while todo:
        path = todo.pop()
        if path in seen or path not in pages:
            continue
        seen.add(path)
        todo += [to[0] for _, link in pages[path].links if (to := target(path, link))]
    findings += [f"{path}: no link leads here" for path in sorted(set(pages) - seen)]
    print("\n".join(findings) or f"{len(pages)} pages")
    return 1 if findings else 0


sys.exit(main())
