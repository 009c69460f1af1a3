#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The pages in docs/: their commands work, their links lead somewhere, and the site is complete.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

TOP=$BATS_TEST_DIRNAME/../..

# bats test_tags=all
@test "docs/answers.md, docs/solaris.md: the commands succeed and print the headers on the page" {
	need_command make gzip
	[ "$(grep -c '^### .*?$' "$TOP/docs/answers.md")" -eq 37 ]
	grep -q "answers 37 questions" "$TOP/README.md"
	go -0 "$TOP/scripts/answers" --check "$CPC_BUILD"
	[[ ${lines[-1]} =~ ^[0-9]+\ commands$ ]]
	[ "${lines[-1]% commands}" -ge 15 ]
}

@test "docs/answers.md: a command that fails, or has another header, is found" {
	mkdir -p "$T/docs" "$T/scripts"
	cp "$TOP/scripts/answers" "$T/scripts"
	printf '    $ %s\n    %s\n\n' 'cputrack -c page-faults true' 'time lwp event pic0' \
		'cputrack --names -c page-faults true' 'time lwp event pic0' \
		'false' 'header' >"$T/docs/answers.md"
	go -1 "$T/scripts/answers" --check "$CPC_BUILD"
	[ "$(grep -c 'answers.md:' <<<"$stderr")" -eq 2 ]
	[[ $stderr == *"answers.md:4: cputrack --names -c page-faults true: missing the line: time lwp event picN"* ]]
	[[ $stderr == *"answers.md:7: false: exit status 1"* ]]
}

# The indented lines below question $1 of answers.md.
block() {
	awk -v title="### $1" '/^### / { on = $0 == title } on && sub(/^    /, "")' "$TOP/docs/answers.md"
}

@test "docs/answers.md: many machines in one table, and what pandas does with it" {
	need_keys
	need_command unshare hostname
	unshare -u hostname web01 || skip "no other host name here"
	# Each machine is a UTS namespace of this one; ssh is not needed to get there.
	mkdir "$T/bin"
	# shellcheck disable=SC2016 # for the inner shell
	printf '%s\n' '#!/bin/sh' 'host=${1#root@}; shift' 'exec unshare -u sh -c '"'hostname \"\$0\" && exec \"\$@\"'"' "$host" "$@"' >"$T/bin/ssh"
	chmod +x "$T/bin/ssh"
	block "How do I count ten machines into one table?" | sed 's/ 10 1 / -c task-clock,page-faults 0.2 1 /; s/{01..10}/{01..03}/' >"$T/fleet.sh"
	cd "$T"
	PATH=$T/bin:$PATH go -0 bash -e "$T/fleet.sh"
	[ "$(csv_awk '{ print $host }' <"$T/fleet.csv" | sort -u | xargs)" = "web01 web02 web03" ]
	[ "$(grep -c '^time,' "$T/fleet.csv")" = 1 ]
	[ "$(csv_awk '$event == "task-clock" { print $unit }' <"$T/fleet.csv" | sort -u)" = ns ]
	python3 -c 'import pandas' || skip "there is no pandas"
	block "How do I read the counts with pandas?" | sed 's/^>>> //; $s/.*/table = &/' >"$T/read.py"
	cat >>"$T/read.py" <<-'END'
	assert list(table.columns) == [(event, f"web0{n}") for event in ("page-faults", "task-clock") for n in (1, 2, 3)], table
	assert table.sum().sum() == sums[sums.key.notna()]["count"].sum() > 0, table
	END
	go -0 python3 "$T/read.py"
}

# The options, attributes and rows that DIFFERENCES FROM SOLARIS of page $1 names.
differences() {
	sed -n '/^\.Sh DIFFERENCES FROM SOLARIS/,/^\.Sh SEE ALSO/s/^\.\(Fl\|Sy\|Ql\) \(.*\)/\1 \2/p' "$TOP/man1/$1.1" |
		sed 's/ [,.;]$//; s/ Ns .*//; s/^Fl /-/; s/^[SQ][yl] //; s/\\-/-/g; s/ Cm / /; s/ Ar .*//'
}

@test "docs/solaris.md has every difference of the manual pages" {
	local page word n=0
	for page in cputrack cpustat; do
		while read -r word; do
			echo "$page: $word"
			grep -qF -- "\`$word" "$TOP/docs/solaris.md"
			n=$((n + 1))
		done < <(differences "$page")
	done
	[ "$n" -ge 11 ]
	n=0
	while read -r word; do
		echo "cpc-events: $word"
		grep -qF -- "\`$word" "$TOP/docs/solaris.md"
		n=$((n + 1))
	done < <(sed -n '/^Of the attributes of Solaris/,/^\.Pp/s/^\.Sy \([a-z]*\)$/\1/p' "$TOP/man7/cpc-events.7")
	[ "$n" -eq 3 ]
}

@test "README.md: the commands of its table of questions are known to the programs" {
	local command n=0
	while read -r command; do
		n=$((n + 1))
		# An unknown event ends them before they count anything. answers.md has commands like the others.
		case $command in
		*'--compare -- '* | 'cputrack ls' | *--check | *-h) continue ;;
		*--top* | *--tree* | *--cgroup* | *nginx*) continue ;;
		esac
		[[ $command =~ ^(cputrack|cpustat)\  ]]
		# shellcheck disable=SC2086 # words
		mistake 2 "no-such-event" "${command%% *}" -c no-such-event ${command#* }
	done < <(awk -F'|' '/^## /{ on = /Questions/ } on && /^\|.*`c/ { n = split($3, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' "$TOP/README.md")
	[ "$n" -ge 12 ]
}
