# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Completion for cputrack(1), on top of bash-completion.

# Completes the last part of the event specification in $cur.
_cputrack_spec()
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

# Sets $command to the index in $words of the first that is no option, nor the
# argument of one; beyond $cword when $cur is the argument of an option.
_cputrack_find_command()
{
	local word letter

	attached=
	for ((command = 1; command < cword; command++)); do
		word=${words[command]}
		case $word in
		--)
			((command++))
			return
			;;
		--pid)
			attached=1
			((command++))
			;;
		--pid=*)
			attached=1
			;;
		--by | --compare | --repeat | --delay | --for | --events | --count | --output | --interval | --format | --record | --replay)
			((command++))
			;;
		--*) ;;
		-?*)
			for ((letter = 1; letter < ${#word}; letter++)); do
				[[ ${word:letter:1} == [cINoOprT] ]] || continue
				[[ ${word:letter:1} == p ]] && attached=1
				((letter + 1 == ${#word})) && ((command++))
				break
			done
			;;
		*)
			return
			;;
		esac
	done
}

# Hands over to the completion of the command at $words[$command], which
# bash-completion wants to have as an index of COMP_WORDS.
_cputrack_command()
{
	local offset=0 i joined

	for ((i = 0; i < command; i++)); do
		joined=
		while [[ $joined != "${words[i]}" ]] && ((offset < COMP_CWORD)); do
			joined+=${COMP_WORDS[offset++]}
		done
	done
	_command_offset "$offset"
}

_cputrack()
{
	local cur prev words cword split
	local command attached

	_init_completion -s -n : || return

	_cputrack_find_command
	if ((command < cword)); then
		[[ $attached ]] || _cputrack_command
		return
	fi
	if ((command > cword)) || $split; then
		case $prev in
		--events | -c | -[!-]*c)
			_cputrack_spec
			;;
		--output | -o | -[!-]*o | --compare | --record | -O | -[!-]*O | --replay | -I | -[!-]*I)
			_filedir
			;;
		--by)
			mapfile -t COMPREPLY < <(compgen -W 'lwp process command' -- "$cur")
			;;
		--format)
			mapfile -t COMPREPLY < <(compgen -W 'table csv json openmetrics trace' -- "$cur")
			;;
		--pid | -p | -[!-]*p)
			_pids
			;;
		esac
		return
	fi
	if [[ $cur == -* && ${words[cword - 1]} != -- ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-c -D -e -f -h -I -N -n -O -o -p -r -T -t -v
			--append --by= --changed --check --compare= --delay= --for= --repeat= --comm --events= --debug --follow-exec --follow-fork --format= --help --human --count= --names
			--no-header --output= --pid= --record= --replay= --interval= --start-disabled --tid --total --tree --cycles
			--verbose --version' -- "$cur")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		return
	fi
	[[ $attached ]] || _cputrack_command
} &&
	complete -F _cputrack cputrack
