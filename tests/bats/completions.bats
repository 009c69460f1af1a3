#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Completions in bash, zsh and fish.

load helpers

setup() {
	common_setup
	COMPLETIONS=$CPC_BUILD/completions
	export CPC_EVENTS_DIR=$T/events.d
	mkdir "$CPC_EVENTS_DIR"
	printf '[*]\nour_faults = page-faults + major-faults\nOUR.CODE = minor-faults\n' >"$CPC_EVENTS_DIR/our.def"
}

teardown() {
	common_teardown
}

# with_tracepoints SHELL_completes ARGUMENT...: by a cputrack that knows three events and three tracepoints.
with_tracepoints() {
	mkdir -p "$T/fake"
	cat >"$T/fake/cputrack" <<-'EOF'
	#!/bin/sh
	if [ "$#" = 1 ]; then
		printf 'software events:\n        event[0-15]: page-faults task-clock\n'
	else
		printf '%s  about\n' page-faults page-mine task-clock task:newtask page_pool:release pagemap:insert | awk -v word="${2%?}" 'index($1, word) == 1'
	fi
	EOF
	chmod +x "$T/fake/cputrack"
	PATH=$T/fake:$PATH "$@"
}

# What bash completes the words to, the last of which is begun; without the blank at its end.
bash_completes() {
	bash --norc -c '
		. /usr/share/bash-completion/bash_completion
		. "$1/$2.bash"
		shift
		line="$*"
		COMP_LINE=$line COMP_POINT=${#line}
		# As readline breaks words.
		mapfile -t COMP_WORDS < <(printf "%s\n" "$@" | sed "s/[=:]/\n&\n/g" | sed "/^$/d")
		[ "${!#}" != "" ] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9 COMP_KEY=9
		compopt() { :; }
		"_${1//-/_}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' - "$COMPLETIONS" "$@" | sort
}

fish_completes() {
	HOME=$T XDG_CONFIG_HOME=$T fish --no-config -c "source $COMPLETIONS/$1.fish; complete -C '$2'" | cut -f1 | sort
}

zsh_completes() {
	# shellcheck disable=SC2016 # for zsh
	timeout 60 zsh -f -c '
		zmodload zsh/zpty
		zpty shell "PS1=% TERM=dumb zsh -f -i"
		zpty -w shell "fpath=($1 \$fpath); autoload -U compinit; compinit -u -d $1/dump"
		zpty -n -w shell "$2"$'"'\t'"'
		zpty -r shell out "*$3*" && print -r -- found
		zpty -d shell' - "$T/zsh" "$1" "$2"
}

@test "bash: options, formats, events, lists of events, slots, attributes, patterns" {
	[ -r /usr/share/bash-completion/bash_completion ] || skip "there is no bash-completion"
	[ "$(bash_completes cputrack --fol)" = $'--follow-exec\n--follow-fork' ]
	[ "$(bash_completes cpustat --format t)" = $'table\ntrace' ]
	[ "$(bash_completes cpustat -A s)" = $'service\nsocket' ]
	[ "$(bash_completes cputrack -c page-f)" = page-faults ]
	[ "$(bash_completes cputrack -fec page-faults,task-c)" = page-faults,task-clock ]
	[ "$(bash_completes cputrack -c pic1=page-f)" = page-faults ]
	[ "$(bash_completes cputrack -c page-faults,nou)" = page-faults,nouser ]
	[ "$(bash_completes cputrack -h page-f)" = page-faults ]
	[ "$(bash_completes cputrack --by p)" = process ]
	[ "$(bash_completes cputrack --engine k)" = kernel ]
	[ "$(bash_completes cpc-events --o)" = --output= ]
	[ "$(bash_completes cpc-events i)" = import ]
	# tracepoints are last
	[ "$(with_tracepoints bash_completes cputrack -c pa)" = $'page-faults\npage-mine' ]
	[ "$(with_tracepoints bash_completes cputrack -c page-f)" = page-faults ]
	[ "$(with_tracepoints bash_completes cputrack -c page-faults,page_)" = page-faults,page_pool:release ]
	[ "$(with_tracepoints bash_completes cputrack -c pagemap:)" = insert ]
	[ "$(bash_completes cpcplot --ev)" = --event= ]
	[ "$(bash_completes cpcplot --by l)" = lwp ]
	[ "$(bash_completes cpcplot --html)" = --html ]
	touch "$T/r.json" "$T/r.csv" "$T/r.c"
	[ "$(bash_completes cpcplot "$T/r.")" = "$T/r.csv"$'\n'"$T/r.json" ]
	[ "$(bash_completes cpcplot -o "$T/r.j")" = "$T/r.json" ]
	bash_completes cpustat -c '' | grep -x context-switches
	touch "$T/some-file"
	[ "$(bash_completes cputrack -o "$T/some")" = "$T/some-file" ]
	# an optional argument is a file, and does not hide the next option or command
	[ "$(bash_completes cputrack --compare "$T/some")" = "$T/some-file" ]
	[ "$(bash_completes cputrack --compare -c page-f)" = page-faults ]
	bash_completes cputrack --compare -- tru | grep -x true
	bash_completes cputrack --compare -r 3 -- ls -l -- tru | grep -x true
	[ "$(bash_completes cputrack --compare="$T/some-file" ls -- "$T/some")" = "$T/some-file" ]
	[ "$(bash_completes cputrack -c page-faults,our_f)" = page-faults,our_faults ]
	[ "$(bash_completes cputrack -h OUR.C)" = OUR.CODE ]
	if [ "$(id -u)" = 0 ] && "$CPC_BUILD/cputrack" -h 'sched:sched_swit*' >"$T/found"; then
		[ "$(bash_completes cputrack -c pic1=sched:sched_swi)" = sched_switch ]
		[ "$(bash_completes cputrack -h sched:sched_swi)" = sched_switch ]
	fi
	# the command's own words
	bash_completes cputrack -c page-faults -fe tru | grep -x true
	[ "$(bash_completes cputrack -c page-faults ls "$T/some")" = "$T/some-file" ]
}

@test "fish: the same" {
	need_command fish
	[ "$(fish_completes cputrack 'cputrack --fol')" = $'--follow-exec\n--follow-fork' ]
	[ "$(fish_completes cpustat 'cpustat --format t')" = $'table\ntrace' ]
	[ "$(fish_completes cpc-events 'cpc-events --ou')" = --output ]
	[ "$(fish_completes cpc-events 'cpc-events im')" = import ]
	touch "$T/some.json"
	fish_completes cpc-events "cpc-events import $T/some" | grep -x "$T/some.json"
	fish_completes cpcplot "cpcplot $T/some" | grep -x "$T/some.json"
	[ "$(fish_completes cpcplot 'cpcplot --by l')" = lwp ]
	[ "$(fish_completes cpcplot 'cpcplot --ht')" = --html ]
	[ "$(with_tracepoints fish_completes cputrack 'cputrack -c pa')" = $'page-faults\npage-mine' ]
	[ "$(with_tracepoints fish_completes cputrack 'cputrack -c page_')" = page_pool:release ]
	fish_completes cputrack 'cputrack --compare -c page-f' | grep -x page-faults
	fish_completes cputrack 'cputrack -c page-f' | grep -x page-faults
	fish_completes cputrack 'cputrack -c page-faults,task-c' | grep -x page-faults,task-clock
	fish_completes cputrack 'cputrack -c pic1=page-f' | grep -x pic1=page-faults
	fish_completes cputrack 'cputrack -c page-faults,nou' | grep -x page-faults,nouser
	fish_completes cputrack 'cputrack -h page-f' | grep -x page-faults
	fish_completes cputrack 'cputrack -c page-faults,our_f' | grep -x page-faults,our_faults
	fish_completes cputrack 'cputrack -c page-faults tru' | grep -x true
}

@test "zsh: the same" {
	need_command zsh
	mkdir "$T/zsh"
	for program in cputrack cpustat cpc-events cpcplot; do
		cp "$COMPLETIONS/$program.zsh" "$T/zsh/_$program"
	done
	[ "$(zsh_completes 'cputrack --compare -c page-fau' 'page-faults')" = found ]
	[ "$(zsh_completes 'cputrack -c page-fau' 'page-faults')" = found ]
	[ "$(zsh_completes 'cputrack -c page-faults,task-cl' 'task-clock')" = found ]
	[ "$(zsh_completes 'cputrack -c pic1=page-fau' 'pic1=page-faults')" = found ]
	[ "$(zsh_completes 'cputrack -c page-faults,nous' 'nouser')" = found ]
	[ "$(zsh_completes 'cputrack -h page-fau' 'page-faults')" = found ]
	[ "$(zsh_completes 'cputrack -c page-faults,our_fau' 'our_faults')" = found ]
	# tracepoints are last: one name is completed at once
	[ "$(with_tracepoints zsh_completes $'cputrack -c ta\t,page-f' 'task-clock,page-faults')" = found ]
	[ "$(with_tracepoints zsh_completes 'cputrack -c page_' 'page_pool:release')" = found ]
	[ "$(zsh_completes 'cpcplot --ev' '--event')" = found ]
	[ "$(zsh_completes 'cpcplot --by l' 'lwp')" = found ]
	[ "$(zsh_completes 'cpustat --format tr' 'trace')" = found ]
	[ "$(zsh_completes 'cpc-events --out' '--output')" = found ]
	[ "$(zsh_completes 'cpc-events imp' 'import')" = found ]
	[ "$(zsh_completes 'cpustat --agg' '--aggregate')" = found ]
}
