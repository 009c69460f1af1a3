# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Completion for cpustat(1), on top of bash-completion.

# Completes the last part of the event specification in $cur.
_cpustat_spec()
{
	local head=${cur%"${cur##*[,=]}"} part=${cur##*[,=]} words i
	local events='page-faults minor-faults major-faults context-switches
		cpu-migrations cgroup-switches task-clock cpu-clock'

	words=$events
	# An attribute follows an event.
	[[ $head == *, ]] && words+=' nouser sys'
	mapfile -t COMPREPLY < <(compgen -P "$head" -W "$words" -- "$part")
	# Readline replaces only what follows the last character that breaks words.
	for i in : =; do
		if [[ $COMP_WORDBREAKS == *"$i"* && $cur == *"$i"* ]]; then
			head=${cur%"${cur##*[:=]}"}
			COMPREPLY=("${COMPREPLY[@]#"$head"}")
			break
		fi
	done
	compopt -o nospace
}

_cpustat()
{
	# shellcheck disable=SC2034 # words, cword: set by _init_completion
	local cur prev words cword split

	_init_completion -s -n : || return

	case $prev in
	--events | -c | -[!-]*c)
		_cpustat_spec
		return
		;;
	--aggregate | -A | -[!-]*A)
		mapfile -t COMPREPLY < <(compgen -W 'core socket node all' -- "$cur")
		return
		;;
	--timestamp | -T | -[!-]*T)
		mapfile -t COMPREPLY < <(compgen -W 'u d' -- "$cur")
		return
		;;
	--output | -o | -[!-]*o | --record | -O | -[!-]*O | --replay | -I | -[!-]*I)
		_filedir
		return
		;;
	--by)
		mapfile -t COMPREPLY < <(compgen -W 'cpu' -- "$cur")
		return
		;;
	--format)
		mapfile -t COMPREPLY < <(compgen -W 'table csv json openmetrics trace' -- "$cur")
		return
		;;
	--delay | --for | --period | -p | -[!-]*p | --cpus)
		return
		;;
	esac
	$split && return
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-A -c -D -h -I -m -n -O -o -p -s -T -t
			--aggregate= --append --by= --changed --check --delay= --for= --cpus= --events= --debug --format= --help --human --mean --names --no-header
			--output= --period= --record= --replay= --shared --soak
			--timestamp= --cycles --version' -- "$cur")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
	fi
} &&
	complete -F _cpustat cpustat
