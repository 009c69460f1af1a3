#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Plots of odd names: gnuplot, the page and the terminal show each name as it is.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
	cat >"$T/names.py" <<-'PY'
	import json, sys
	NAMES = ["100%", "%d %s", "%%", "a'b", "''", 'say "hi"', "back\\slash", "end\\", "\\n", "{/*9 x}", "under_score", "@home",
	         "'@home'", "x^2", "two\nlines", "zo\u00eb \u732b \U0001f600", "<b>&amp;</b>", "`date`", "$(id)", "#no", "~tilde"]
	def shown(name):
	    return name.replace("\n", "?")
	if __name__ == "__main__":
	    names = NAMES[int(sys.argv[1]):int(sys.argv[2])]
	    put = lambda **o: print(json.dumps(o))
	    put(kind="run", tool="cpustat", command=[], host="h", unit="command",
	        sets=[dict(events=[dict(event=name, unit="", scale=1) for name in names[:2]])])
	    for t in (1, 2):
	        for i, name in enumerate(names):
	            put(kind="tick", ns=t * 10**9, command=name, key_kind="name", set=0, counts={event: i * t + 1 for event in names[:2]})
	    put(kind="end")
	PY
}

teardown() {
	common_teardown
}

@test "names with %, quotes, @, braces, UTF-8 are in the picture as they are" {
	need_command gnuplot
	# A map of all, and lines and titles of some.
	for range in "0 21" "0 7" "7 14" "14 21"; do
		# shellcheck disable=SC2086 # words
		python3 "$T/names.py" $range >"$R"
		go -0 cpcplot -o "$T/p.svg" "$R"
		[ -z "$output$stderr" ]
		# shellcheck disable=SC2086 # words
		PYTHONPATH=$T PYTHONDONTWRITEBYTECODE=1 python3 - "$T/p.svg" $range <<-'EOF'
		import collections, names, sys, xml.dom.minidom
		text = lambda node: node.data if node.nodeType == 3 else "".join(text(child) for child in node.childNodes)
		found = collections.Counter(text(node).replace("\u00a0", " ") for node in xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("text"))
		chosen = [names.shown(name) for name in names.NAMES[int(sys.argv[2]):int(sys.argv[3])]]
		for name in chosen:
		    assert found[name], (name, found)
		for event in chosen[:2]:
		    assert any(event + " per sample" in title for title in found), (event, found)
		EOF
		go -0 cpcplot -s 120x40 "$R"
		[ -z "$stderr" ]
	done
}

@test "names with HTML and other odd characters are in the page as they are" {
	python3 "$T/names.py" 0 21 >"$R"
	go -0 cpcplot -o "$T/p.html" "$R"
	PYTHONPATH=$T PYTHONDONTWRITEBYTECODE=1 python3 - "$T/p.html" <<-'EOF'
	import html.parser, names, sys
	texts, titles = set(), set()
	class Page(html.parser.HTMLParser):
	    def handle_starttag(self, tag, attrs):
	        assert tag != "b"
	        titles.update(value for name, value in attrs if name == "title")
	    def handle_data(self, data):
	        texts.add(data)
	parser = Page()
	parser.feed(open(sys.argv[1], encoding="utf-8").read())
	for name in map(names.shown, names.NAMES):
	    assert name in texts, name
	EOF
}
