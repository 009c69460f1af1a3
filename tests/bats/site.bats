#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# scripts/site: the pages and manual pages as HTML.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

TOP=$BATS_TEST_DIRNAME/../..

@test "scripts/site: every page and manual page is there, and every link leads somewhere" {
	local file
	need_command mandoc markdown_py
	go -0 "$TOP/scripts/site" "$T/site"
	[ "$output$stderr" = "" ]
	for file in "$TOP"/docs/*.md; do
		[ -s "$T/site/$(basename "$file" .md).html" ]
	done
	for file in "$TOP"/man?/*; do
		[ -s "$T/site/$(basename "$file").html" ]
	done
	grep -q '<td data-title=""><code>cputrack ls</code></td>' "$T/site/index.html"
	# for phones: options stay whole, also with words after a hyphen, and cells have titles
	grep -q '<code>cpustat <span class="word">--by=service</span> 10 1</code>' "$T/site/index.html"
	grep -q '<td data-title="why">' "$T/site/comparison.html"
	[ "$(grep -c 'class="word"' <(sed -n '/<pre>/,/<\/pre>/p' "$T/site/answers.html"))" = 0 ]
	# what is new is for those who know the rest
	[[ $(sed -n '/Guides/,/<\/ul>/p' "$T/site/pages.html" | grep '<li>' | tail -n1) == *CHANGELOG.html* ]]
	# a function of another page, and a page of another project
	grep -q '"cpc_enable.3.html">cpc_disable(3)<' "$T/site/cputrack.1.html"
	grep -q '<span class="Xr">ptrace(2)</span>' "$T/site/cputrack.1.html"
	go -0 "$TOP/tests/lint/site.py" "$T/site"
	[[ $output =~ ^[0-9]+\ pages$ ]]
	[ "${output% pages}" -ge 30 ]
}

@test "tests/lint/site.py finds links that lead nowhere, scripts, foreign resources and lost pages" {
	mkdir "$T/site"
	cat >"$T/site/index.html" <<-'END'
		<html><head><title>t</title><link rel="stylesheet" href="https://example.org/a.css"></head>
		<body><p id="a">x</p><p id="a">y</p><a href="gone.html">1</a><a href="#b">2</a><a href="#a">3</a>
		<script>1</script><a href="https://example.org/">4</a></body></html>
	END
	echo '<html><head><title>t</title></head><body>|---|</body></html>' >"$T/site/lost.html"
	go -1 "$TOP/tests/lint/site.py" "$T/site"
	for finding in "loads https://example.org/a.css" "the id twice: a" "leads nowhere: gone.html" \
		"no such place in the page: #b" "a script" "lost.html:1: markdown is left: |---|" \
		"lost.html: no link leads here"; do
		[[ $output == *"$finding"* ]]
	done
	[ "${#lines[@]}" -eq 7 ]
}

@test "scripts/site: mistakes" {
	mistake 2 'usage: scripts/site [DIRECTORY]' "$TOP/scripts/site" --help
	mkdir "$T/bin"
	ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v env)" "$T/bin"
	mistake 1 'site: cannot find mandoc: run scripts/deps check' env "PATH=$T/bin" "$TOP/scripts/site" "$T/site"
}
