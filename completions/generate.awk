# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# awk -v shell=bash|zsh|fish -v program=NAME -f generate.awk program.h main.c TEMPLATE
#
# Prints TEMPLATE.  Replaces @PROGRAM@, and lines such as @OPTIONS@ by code made from the option
# tables in the C sources.  The name of an argument decides how it is completed.

# Common options are macros in program.h; main.c has the others.  main.py has the same table as tuples.
FNR == 1 { file++ }
file == 1 && /^#define [A-Z]+_OPTS/ { within = 1; macro = $2; next }
file == 1 && within { shared[macro] = shared[macro] $0; if (!/\\$/) within = 0 }
file == 2 && /^OPTIONS = \($/ { within = 1; next }
file == 2 && within && /^\)/ { within = 0; read_table() }
file == 2 && within && /^    \("/ { table = table row_of($0); next }
file == 2 && /struct opt opts\[\]/ { within = 1; next }
file == 2 && within && /^\t[A-Z]+_OPTS,/ { table = table shared[substr($1, 1, length($1) - 1)]; next }
file == 2 && within { table = table $0; if (/\{0\}/) { within = 0; read_table() } }
file < 3 { next }

{ gsub(/@PROGRAM@/, program) }
/^@[A-Z]+@$/ { printf "%s", block[$0]; next }
{ print }

# Of ("o", "output", "FILE", "help"), the row that a table in C would have.
function row_of(tuple,   part, none) {
	split(tuple, part, "\"")
	none = part[5] ~ /None/
	return "{" (part[2] != "" ? "'" part[2] "'" : "OPT") ", \"" part[4] "\", " \
		(none ? "NULL" : "\"" part[6] "\"") ", \"" part[none ? 6 : 8] "\", ALWAYS}"
}

function read_table(   row, n, i, part, has) {
	n = split(table, row, "}")
	for (i = 1; i <= n; i++) {
		if (split(row[i], part, "\"") < 5)
			continue
		letter = match(row[i], /\{'.'/) ? substr(row[i], RSTART + 2, 1) : ""
		has = part[3] !~ /NULL/
		long = part[2]
		arg = has ? part[4] : ""
		help = has ? part[6] : part[4]
		attached = sub(/^\[=/, "[", arg) # an argument only after =
		optional = sub(/^\[/, "", arg) && sub(/\]$/, "", arg)
		words = words_of(arg)
		kind = !has ? "flag" : words != "" ? "words" : arg == "SPEC" ? "events" : \
			arg == "FILE" ? "file" : arg == "PID" ? "pid" : "other"
		if (shell == "bash") to_bash()
		if (shell == "zsh") to_zsh()
		if (shell == "fish") to_fish()
	}
	if (shell == "zsh") {
		block["@ARGUMENTS@"] = "_arguments -s -S" (program == "cputrack" ? " -A '-*'" : "") " \\\n"
		block["@OPERANDS@"] = program == "cputrack" ? \
			"  '(-)1:command: _command_names -e' \\\n  '*:: :_normal'\n" : \
			"  '1::interval in seconds: ' \\\n  '2::number of samples: '\n"
	}
	if (shell == "bash") {
		block["@OPTIONS@"] = "\tlocal options='" substr(options, 2) "'\n"
		block["@ARGUMENTS@"] = "\tlocal longs=' " longs "' maybe=' " maybe "' letters='" letters "' pids='" pids "'\n"
	}
}

# The possible values of an argument; "": any.
function words_of(arg,   words) {
	if (arg == "FORMAT") { words = help; gsub(/,| or/, "", words) }
	else if (arg == "ENGINE") words = "auto kernel ptrace"
	else if (arg == "UNIT") words = "cpu core socket node kind all cgroup service container user command"
	else if (arg == "WHAT") words = program == "cputrack" ? "lwp process command cgroup service container user" : "cpu cgroup service container user command"
	else if (arg ~ /\|/) { words = arg; gsub(/\|/, " ", words) }
	return words
}

function to_bash(   action) {
	options = options (attached ? " --" long : "") " --" long (arg != "" ? "=" : "") (letter != "" ? " -" letter : "")
	if (arg == "")
		return
	if (optional && !attached) maybe = maybe "--" long " "
	else if (!optional) longs = longs "--" long " "
	letters = letters letter
	if (kind == "pid") pids = "--" long " " letter
	action = kind == "words" ? "_" program "_words '" words "'" : kind == "events" ? "_" program "_spec \"$1\"" : \
		kind == "file" ? "_filedir" : kind == "pid" ? "_pids" : ":"
	block["@CASES@"] = block["@CASES@"] "\t--" long \
		(letter != "" ? " | -" letter " | -[!-]*" letter : "") ")\n\t\t" action "\n\t\t;;\n"
}

function to_zsh(   text, action, many) {
	text = help
	gsub(/'/, "'\\''", text)
	gsub(/[][]/, "\\\\&", text)
	action = kind == "words" ? "(" words ")" : kind == "events" ? "_" program "_spec" : \
		kind == "file" ? "_files" : kind == "pid" ? "_pids" : " "
	many = kind == "events" || kind == "pid" || long == "event"
	action = arg != "" ? (optional ? "::" : ":") arg ":" action : ""
	if (long == "help" && program !~ /^cpc/) action = "::pattern:_" program "_events"
	block["@OPTIONS@"] = block["@OPTIONS@"] "  " (many ? "'*'" : \
		letter != "" ? "'(-" letter " --" long ")'" : "") \
		(letter == "" ? "'--" long (arg != "" ? "=" : "") (attached ? "-" : "") : \
		"{-" letter (arg != "" ? "+" : "") ",--" long (arg != "" ? "=" : "") "}'") \
		"[" text "]" action "' \\\n"
}

function to_fish(   text) {
	text = help
	gsub(/'/, "\\'", text)
	block["@OPTIONS@"] = block["@OPTIONS@"] "complete -c " program (letter != "" ? " -s " letter : "") \
		" -l " long (kind == "flag" || optional ? "" : kind == "file" ? " -r -F" : " -x") \
		(kind == "words" ? " -a '" words "'" : kind == "events" ? " -a '(__" program "_spec)'" : \
		kind == "pid" ? " -a '(__fish_complete_pids)'" : "") " -d '" text "'\n"
	if (arg != "" && !optional) params = params " --" long (letter != "" ? " -" letter : "")
	block["@COMMAND@"] = "complete -c " program (program == "cputrack" ? \
		" -n 'not __cputrack_seen_help' -x -a '(__fish_complete_subcommand" params ")'" : " -f") "\n"
}
