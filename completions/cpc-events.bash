# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Completion for cpc-events(1), on top of bash-completion.

_cpc_events()
{
	# shellcheck disable=SC2034 # words, cword: set by _init_completion
	local cur prev words cword split

	_init_completion -s || return

	case $prev in
	--cpu | -C | -[!-]*C)
		return
		;;
	--output | -o | -[!-]*o)
		_filedir
		return
		;;
	esac
	$split && return
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-C -h -o --cpu= --help --output= --version' -- "$cur")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
	elif [[ " ${words[*]:0:cword} " == *' import '* ]]; then
		_filedir json
	else
		mapfile -t COMPREPLY < <(compgen -W import -- "$cur")
	fi
} &&
	complete -F _cpc_events cpc-events
