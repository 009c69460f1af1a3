# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# exact.awk - are the counts in a table of cputrack -v those that a scenario has?
#
#   awk -f exact.awk -v scenario=NAME [-v options=-fe] [-v attached=1] [-v skip=N]
#       [-v second=kernel|none] exact.rows TABLE [TABLE]
#
# pic0 is page-faults in user mode.  With second=kernel, pic1 is page-faults in kernel mode;
# with second=none there is no pic1; else, with two tables, of 1000 and of 3000 rounds, it is
# instructions.  skip=N leaves out the first N images of the first process, which are not
# the workload's.  Status 1: prints the differences.
function wanted(row,    w, total) {
	split(row, w, /[.:=+]/)
	total = w[3] != "lwp_exit"
	if ((w[1] > 1 && options !~ /f/) || ended[w[1]])
		return
	# It had its image's two before.
	if (attached && total && w[1] == 1 && !totals++)
		w[5] -= 2
	row = w[1] "." w[2] ":" w[3]
	row = row " " ++times[1, row]
	units[row] = w[4]
	faults[row] = w[5]
	n++
	ended[w[1]] = w[3] == "exec" && options !~ /e/
}

function counted(pid, words, i,    row) {
	row = number[pid] "." words[i] ":" words[i + 1]
	row = row " " ++times[file, row]
	seen[file]++
	pic[file, row, 0] = words[i + 2]
	pic[file, row, 1] = words[i + 3]
	if (!(row in units))
		bad("table " file - 1 " has", row, words[i + 2])
}

function bad(why, row, value) {
	print scenario " " options ": " why " " row " " value
	failed = 1
}

FNR == 1 { file++ }
file == 1 && $1 == scenario {
	for (j = 2; j <= NF; j++)
		wanted($j)
}
file == 1 { next }
FNR == 1 {
	f = $2 == "pid"
	processes = skipped = 0
	split("", number)
	next
}
{
	pid = f ? $2 : 0
	if (!(pid in number))
		number[pid] = ++processes
	if ($(3 + f) == "fork")
		number[$NF] = ++processes
	if (skipped < skip && number[pid] == 1) {
		skipped += $(3 + f) == "exec" && $(4 + f) != "#"
		next
	}
	if ($(3 + f) ~ /^(lwp_exit|exec|exit)$/ && $(4 + f) != "#") {
		split($0, words)
		counted(pid, words, 2 + f)
	}
}
END {
	if (!n)
		bad("unknown", "", "")
	for (row in units) {
		u = units[row]
		for (t = 2; t <= file; t++)
			if (pic[t, row, 0] != 7 * u + faults[row])
				bad("not " 7 * u + faults[row] " user faults:", row, pic[t, row, 0])
		if (file == 3 && second != "none" && pic[3, row, 1] - pic[2, row, 1] != 4000 * u)
			bad("not " 4000 * u " instructions more:", row,
				pic[3, row, 1] - pic[2, row, 1])
		# An exec may write to two pages of the new stack, by where that is.
		more = pic[2, row, 1] - 3 * u
		if (second == "kernel" && (more < 0 || more > (row ~ /exec/ ? 2 : 0)))
			bad("not " 3 * u " kernel faults:", row, pic[2, row, 1])
	}
	exit failed || file < 2
}
