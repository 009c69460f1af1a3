# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# tables.sh - checks of tables of cputrack and cpustat, for a POSIX shell, so that the emulated
# machine can use them, too.  $ROWS names the table of cputrack unless it is an argument.

# A table of cputrack as plain words: "PID LWP EVENT COUNT... [# COMMENT]", PID 0
# without -f; a row without counts has none.
table() {
	awk '
	/^ *time +(pid +)?lwp / { f = $2 == "pid"; next }
	{
		words = $0; comment = ""
		at = index($0, "#")
		if (at) { words = substr($0, 1, at - 1); comment = " " substr($0, at) }
		n = split(words, w, " ")
		line = f ? w[2] : 0
		for (i = 2 + f; i <= n; i++) line = line " " w[i]
		print line comment
	}' "${1:-$ROWS}"
}

# Lines of the table whose EVENT is $1, only of LWP $2 where given.
rows_of() {
	table | awk -v event="$1" -v lwp="$2" '$3 == event && (lwp == "" || $2 == lwp)'
}

count_of() {
	rows_of "$@" | wc -l
}

# every_row EVENT CONDITION [N]: at least one line has EVENT, or exactly N lines, and the
# CONDITION of awk holds for each.
every_row() {
	rows_of "$1" | awk -v n="${3:-0}" '
		!('"$2"') { print "not so: " $0; failed = 1 }
		END {
			if (!NR || n && NR != n) { print "there are " NR; failed = 1 }
			exit failed
		}'
}

# All counters of those lines: counters_of EVENT [LWP]
counters_of() {
	rows_of "$@" | cut -d' ' -f4-
}

# Sum of counter PIC (from 0) over the rows with EVENT: sum_of EVENT [LWP [PIC]].  Without such
# rows it prints "none", which is not a number, and 0 in arithmetic.
sum_of() {
	rows_of "$1" "${2-}" | awk -v pic="${3:-0}" '$4 != "#" { n++; s += $(4 + pic) }
		END { if (n) printf "%d\n", s; else print "none" }'
}

# Each row is formatted as the manual says: printing its words with the formats gives the same
# line. Times never go back; the event is a known word.
check_format() {
	awk '
	function bad(why) { print "bad row: " why ": \"" $0 "\" is not \"" want "\""; failed = 1 }
	NR == 1 {
		f = $2 == "pid"
		want = sprintf("%7s ", "time") (f ? sprintf("%6s ", "pid") : "") \
			sprintf("%3s %10s ", "lwp", "event")
		columns = 0
		for (i = 4 + f; i <= NF; i++) {
			columns++
			if ($i == "tsc" || $i == "tick") want = want sprintf("%9s ", $i)
			else want = want sprintf("%8s%-2d", "pic", substr($i, 4))
		}
		if ($0 != want) bad("header")
		next
	}
	{
		words = $0; comment = ""
		at = index($0, "#")
		if (at) { words = substr($0, 1, at - 1); comment = substr($0, at) }
		n = split(words, w, " ")
		event = w[3 + f]
		want = sprintf("%7.3f ", w[1]) (f ? sprintf("%6d ", w[2]) : "") \
			sprintf("%3d %10s ", w[2 + f], event)
		counts = n - 3 - f
		for (i = 4 + f; i <= n; i++) want = want sprintf("%9s ", w[i])
		if (counts == 0) for (i = 0; i < columns; i++) want = want sprintf("%10s", "")
		else if (counts != columns) bad("number of counters")
		if ($0 != want comment) bad("layout")
		if (counts == 0 && comment == "") bad("nothing in it")
		if (w[1] + 0 < last) bad("time")
		last = w[1] + 0
		if (event !~ /^(init_lwp|fini_lwp|tick|lwp_create|lwp_exit|fork|exec|exit|detach)$/)
			bad("event")
	}
	END { if (!NR) print "no header"; exit failed || !NR }' "${1:-$ROWS}"
}

# With -v: for every process and image, the fini_lwp rows add up to its exec, exit or
# detach row, exactly and in every counter; lwp_exit rows repeat their fini_lwp row.
check_sums() {
	table "$@" | awk '
	{ n = 0; for (i = 4; i <= NF && $i != "#"; i++) n++ }
	$3 == "fini_lwp" {
		for (i = 0; i < n; i++) { sum[$1, i] += $(4 + i); own[$1, $2, i] = $(4 + i) }
		lwps[$1]++
	}
	$3 == "lwp_exit" {
		for (i = 0; i < n; i++) if (own[$1, $2, i] != $(4 + i)) {
			print "lwp_exit differs from fini_lwp: " $0; failed = 1
		}
	}
	($3 == "exec" || $3 == "exit") && n > 0 {
		if (!lwps[$1]) { print "no fini_lwp before: " $0; failed = 1 }
		for (i = 0; i < n; i++) {
			if (sum[$1, i] != $(4 + i)) {
				print "fini_lwp rows add up to " sum[$1, i] ": " $0; failed = 1
			}
			sum[$1, i] = 0
		}
		lwps[$1] = 0
		checked++
	}
	END { if (!checked) print "no totals"; exit failed || !checked }'
}

# With -f: every process but the first was announced by one fork row before its first own
# row, and has one exit row, its last; exec rows come in pairs, totals first, then the command.
check_life() {
	table | awk '
	function bad(why) { print why ": " $0; failed = 1 }
	NR == 1 { born[$1] = 1 }
	{
		if (!born[$1]) bad("a row of an unknown process")
		# the fork row of a parent that was killed may come late
		if (gone[$1] && $3 != "fork") bad("a row after the exit row")
		if (half[$1] && ($3 != "exec" || $4 != "#")) bad("the second exec row is missing")
		half[$1] = 0
	}
	$3 == "fork" {
		if (born[$NF] && !gone[$NF]) bad("forked twice")
		born[$NF] = 1
		delete gone[$NF] # the id is used again
	}
	$3 == "exec" && $4 != "#" { half[$1] = 1; execs[$1]++ }
	$3 == "exec" && $4 == "#" { if (--execs[$1] != 0) bad("an exec row without totals") }
	$3 == "exit" { gone[$1] = 1 }
	END {
		for (pid in born) if (!gone[pid]) { print "no exit row of " pid; failed = 1 }
		if (!NR) print "no rows"
		exit failed || !NR
	}'
}

# csv_awk [OPTION]... PROGRAM: runs awk on the rows of csv of the standard input, without their quotes.  The name of
# each column in the header is a variable with the number of its field: $kind == "exit" { n += $count }
csv_awk() (
	IFS= read -r header || exit 1
	n=0
	IFS=,
	for column in $header; do
		n=$((n + 1))
		set -- -v "$column=$n" "$@"
	done
	awk -F '"' -v OFS= '{ for (i = 1; i <= NF; i += 2) gsub(",", "\037", $i); print }' | awk -F '\037' "$@"
)

# The total rows of a table of cpustat, $1, are exactly the sums of its tick rows, per spec
# and counter; their cpu column holds the number of CPUs, $2.
check_totals() {
	awk -v cpus="$2" '
	$3 != "tick" && $3 != "total" { next }
	{
		at = index($0, "#")
		spec = at ? substr($0, at) : ""
		sub(/ *# incomplete$/, "", spec)
		n = split(at ? substr($0, 1, at - 1) : $0, w, " ")
	}
	$3 == "tick" { for (i = 4; i <= n; i++) sum[spec, i] += $i }
	$3 == "total" {
		totals[spec]++
		if ($2 != cpus) { print "not " cpus " CPUs: " $0; failed = 1 }
		for (i = 4; i <= n; i++) if ($i != sum[spec, i] + 0) {
			print "the ticks add up to " sum[spec, i] ": " $0; failed = 1
		}
	}
	END {
		for (spec in totals) { seen++; if (totals[spec] != 1) failed = 1 }
		if (!seen) { print "no total row"; failed = 1 }
		exit failed
	}' "$1"
}
