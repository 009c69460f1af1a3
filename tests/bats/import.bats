#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Event files of vendors: tests/import has small files of our own in the same shapes.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	FILES=$BATS_TEST_DIRNAME/../import
	export CPC_EVENTS_DIR=$T/events.d
	mkdir "$CPC_EVENTS_DIR"
}

# import CPU NAME: the definitions of a file, in the folder.
import() {
	go -0 cpc-events -C "$1" -o "$CPC_EVENTS_DIR/$2.def" import "$FILES/$2.json"
}

@test "each shape becomes definitions, and the rest is reported" {
	import GenuineIntel-6-AD intel
	[ "$stderr" = "cpc-events: '$FILES/intel.json': wrote 4 events and 0 metrics; skipped 5 events that definitions cannot express, and 0 metrics with more than events, numbers and + - * /" ]
	diff - "$CPC_EVENTS_DIR/intel.def" <<-'END'
		# Made by cpc-events import.
		[GenuineIntel-6-AD]
		INST_RETIRED.ANY = cpu/event=0xc0/  # Instructions retired
		OUR_UOPS.STALLS = cpu/event=0xe,umask=0x1,cmask=0x1,inv=0x1/  # Cycles in which # nothing (counters 0,1,2,3)
		OUR_OFFCORE.READS = cpu/event=0x2a,umask=0x1,offcore_rsp=0x10001/  # (deprecated) Reads (counters 0,1)
		OUR_LOADS.SLOW = cpu/event=0xcd,umask=0x1,ldlat=0x80/  # Slow loads
	END
	import GenuineIntel-6-AD kernel
	[[ $stderr == *": wrote 3 events and 6 metrics; skipped 0 events that definitions cannot express, and 10 metrics with more "* ]]
	diff - "$CPC_EVENTS_DIR/kernel.def" <<-'END'
		# Made by cpc-events import.
		[GenuineIntel-6-AD]
		OUR_LLC_LOOKUP = uncore_cha/event=0x34,umask=0x11/  # Lookups in a slice of the cache
		OUR_MEM.LOADS = cpu_atom/event=0xd0,umask=0x81/  # Atom's loads
		OUR_CYCLES = cpu/event=0x3c/  # Cycles
		our_both = OUR_CYCLES + INST_RETIRED.ANY - OUR_CYCLES  # Both
		our_ipc = INST_RETIRED.ANY / OUR_CYCLES  # Instructions per cycle
		our_odd = 100 * ( OUR_CYCLES + 1 )  # Of a formula
		our_sum = ( OUR_CYCLES - 1 )  # Of a sum and a number
		our_share = 100 * ( 1.5e-1 * our_ipc - our_odd )  # Share (%)
		our_plain = our_ipc  # Plain (per_instr)
	END
	import GenuineIntel-6-AD metrics
	[[ $stderr == *": wrote 0 events and 1 metrics; skipped 0 events that definitions cannot express, and 4 metrics "* ]]
	diff - "$CPC_EVENTS_DIR/metrics.def" <<-'END'
		# Made by cpc-events import.
		[GenuineIntel-6-AD]
		our_walks = 100 * ( WALKS.LOADS + WALKS.STORES ) / CYCLES  # Walks (percent)
	END
	go -0 cpc-events import "$FILES/arm.json"
	diff - <(echo "$output") <<-'END'
		# Made by cpc-events import.
		[0x00000000410fd070]
		OUR_INST = 0x8  # Counts instructions that were executed.
		OUR_CYCLES = 0x11  # Cycles
		our_sum = OUR_INST + OUR_CYCLES  # Both
		our_ipc = OUR_INST / OUR_CYCLES  # Ratio (per cycle)
	END
}

# one MEMBERS: the definition of an event OUR_EVENT with these members.
one() {
	echo "[{\"EventName\": \"OUR_EVENT\", $1}]" >"$T/one.json"
	go cpc-events -C "${2:-GenuineIntel-6-AD}" import "$T/one.json"
	definition=$(sed -n 's/^OUR_EVENT = \(.*[^ ]\)  #.*/\1/p' <<<"$output")
}

@test "each member that changes the counts is in the definition" {
	while IFS='|' read -r members want; do
		one "$members"
		[ "$status" -eq 0 ]
		[ "$definition" = "$want" ]
		[ -z "$stderr" ]
	done <<-'END'
		"EventCode": "0x1", "RdWrMask": "0x3", "Unit": "UMCPMC"|amd_umc/event=0x1,rdwrmask=0x3/
		"EventCode": "0x4", "UMask": "0xff", "EnAllCores": "0x1", "EnAllSlices": "0x1", "SliceId": "0x3", "ThreadMask": "0x3", "Unit": "L3PMC"|amd_l3/event=0x4,umask=0xff,enallcores=0x1,enallslices=0x1,sliceid=0x3,threadmask=0x3/
		"EventCode": "0x35", "UMask": "0x1", "Filter": "config1=0x40e33", "Unit": "CHA"|uncore_cha/event=0x35,umask=0x1,config1=0x40e33/
		"EventCode": "0x2", "ExtSel": "1", "Unit": "QPI LL"|uncore_qpi/event=0x102/
		"EventCode": "0x35", "UMask": "0xC001FE01", "UMaskExt": "0xC001FE", "Unit": "CHA"|uncore_cha/event=0x35,umask=0xc001fe01/
		"EventCode": "0x35", "UMask": "0x01", "UMaskExt": "0xC001FE", "Unit": "CHA"|uncore_cha/event=0x35,umask=0xc001fe01/
		"EventCode": "0x1", "UMask": "010"|cpu/event=0x1,umask=0xa/
		"EventCode": "010"|cpu/event=0xa/
		"ConfigCode": "0x1010", "EventCode": "0x7"|cpu/config=0x1010/
		"EventCode": "0x7", "OurMask": "0x00", "Errata": "OUR1", "PEBS": "2"|cpu/event=0x7/
	END
	one '"EventidCode": "0x2", "NodeType": "0x5", "Unit": "arm_cmn"' 0x00000000410fd0c0
	[ "$definition" = "arm_cmn/eventid=0x2,type=0x5/" ]
	one '"EventCode": "0x11"' 0x00000000410fd0c0
	[ "$definition" = "0x11" ]
}

@test "an unknown member that may change the counts: left out, and reported" {
	one '"EventCode": "0x1", "OurMask": "0x3"'
	[ "$status" -eq 1 ]
	[ "${stderr_lines[1]}" = "cpc-events: '$T/one.json': 1 of the skipped events have an unknown member, such as 'OurMask', which can change what they count" ]
	one '"EventCode": "0x11", "OurMask": [1]' 0x00000000410fd0c0
	[ "$status" -eq 1 ]
	[[ $stderr == *"such as 'OurMask'"* ]]
	for members in '"EventCode": "0x1", "UMask": "0x1,0x2"' '"EventCode": "0x1", "UMask": "1f"' \
		'"EventCode": "0x1", "Filter": "config1=1/"' '"EventCode": "0x1", "ExtSel": "x"'; do
		one "$members"
		[ "$status" -eq 1 ]
		[[ $stderr == *"skipped 1 events that definitions cannot express"* ]]
	done
}

@test "of two definitions of a name the first is written, and a message says so" {
	cat >"$T/two.json" <<-'END'
		[{"EventName": "OUR_A", "EventCode": "0x1"}, {"EventName": "our_a", "EventCode": "0x2"},
		 {"EventName": "OUR_B", "EventCode": "0x3"}, {"EventName": "OUR_B", "EventCode": "0x3"},
		 {"MetricName": "OUR_B", "MetricExpr": "OUR_A / OUR_B"}]
	END
	go -0 cpc-events -C '*' import "$T/two.json" "$T/two.json"
	[ "$(grep -i '^our' <<<"$output")" = "OUR_A = cpu/event=0x1/  # 
OUR_B = cpu/event=0x3/  # " ]
	[ "$(sort -u <<<"$stderr")" = "cpc-events: '$T/two.json': skipped 2 definitions with the name of an earlier one" ]
}

@test "events that another file describes: that file is given, too, or they are reported" {
	cd "$FILES"
	for files in 'arm-common.json arm-core.json' 'arm-core.json arm-common.json'; do
		# shellcheck disable=SC2086 # two words
		go -0 cpc-events -C 0x00000000410fd070 import $files
		diff - <(echo "$output") <<-'END'
			# Made by cpc-events import.
			[0x00000000410fd070]
			OUR_INST = 0x8  # Instructions, of an excerpt of our own
			OUR_CYCLES = 0x11  # Cycles of this core
			OUR_OWN = 0xc1  # Its own
		END
		[ "$(sort <<<"$stderr")" = "$(sort <<-'END'
			cpc-events: 'arm-common.json': not imported; the other files refer to 3 of its events
			cpc-events: 'arm-core.json': wrote 3 events and 0 metrics; skipped 3 events that definitions cannot express, and 0 metrics with more than events, numbers and + - * /
			cpc-events: 'arm-core.json': 1 of the skipped events refer to another file (ArchStdEvent): import it, too
		END
		)" ]
	done
	go -0 cpc-events -C 0x00000000410fd070 import arm-core.json
	[ "$(grep -c "^OUR_" <<<"$output")" -eq 1 ]
	[[ $stderr == *"4 of the skipped events refer to another file (ArchStdEvent): import it, too"* ]]
	go -0 cpc-events -C 0x00000000410fd070 import arm-common.json
	[ "$(grep -c "^OUR_" <<<"$output")" -eq 3 ]
}

@test "sections by CPUID: those of this CPU, in the folder, after all other names" {
	cat >"$CPC_EVENTS_DIR/a.def" <<-'END'
		[GenuineIntel-6-AD]
		our_name = page-faults + page-faults
		page-faults = task-clock
		[GenuineIntel-6-A[DE],skl]
		other_name = minor-faults
		[0x00000000410fd070]
		arm_name = cs
	END
	echo 'our_name = cs' >"$CPC_EVENTS_DIR/b.def"
	echo 'our_name = dummy' >"$CPC_EVENTS_DIR/c.txt"
	export CPC_CPUID=GenuineIntel-6-AD-1
	go -0 cputrack -D -T 0 -c our_name,other_name,page-faults true
	[[ $stderr == *"our_name: event file: + type 1, config 0x2, counts in user mode + type 1, config 0x2"* ]]
	[[ $stderr == *"other_name: event file: + type 1, config 0x5"* ]]
	[[ $stderr == *"page-faults: kernel: + type 1, config 0x2"* ]]
	go -2 cputrack -T 0 -c arm_name true
	go -2 cputrack -T 0 -c our_nam true
	[ "$stderr" = "cputrack: unknown event 'our_nam' (did you mean 'our_name'?)" ]
	CPC_CPUID=GenuineIntel-6-AF-1 go -0 cputrack -D -T 0 -c our_name true
	[[ $stderr == *"our_name: event file: + type 1, config 0x3"* ]]
	CPC_CPUID=0x00000000410fd070 go -0 cputrack -D -T 0 -c arm_name true
}

@test "metrics of vendors are computed" {
	cat >"$CPC_EVENTS_DIR/a.def" <<-'END'
		[GenuineIntel-6-AD]
		OUR.FAULTS = page-faults + page-faults
		our_rate = OUR.FAULTS / page-faults
		our_percent = 100 * ( our_rate - 1 ) + our_rate
		our_alias = our_rate  # a name of it
	END
	export CPC_CPUID=GenuineIntel-6-AD-1
	go -0 cputrack -T 0 --names -c our_percent,our_alias true
	[ "$(awk '{ print $NF, $(NF - 1) }' <<<"${lines[1]}")" = "2.000 102.000" ]
	[[ ${lines[0]} == *" OUR.FAULTS page-faults our_percent our_alias" ]]
}

@test "ten thousand definitions cost nothing if no name needs them" {
	need_command strace
	need_unsanitized "LeakSanitizer does not work under strace"
	{
		echo '[*]'
		seq 10000 | sed 's/.*/OUR_EVENT_&.ANY = page-faults  # number &/'
	} >"$CPC_EVENTS_DIR/many.def"
	# Without hardware counters 0xc0 is refused, but not searched for.
	go strace -o "$T/strace" "$CPC_BUILD/cputrack" -T 0 -c page-faults,0xc0 true
	grep -q perf_event_open "$T/strace"
	run ! grep -q many.def "$T/strace"
	go -0 strace -o "$T/strace" "$CPC_BUILD/cputrack" -T 0 -c OUR_EVENT_9999.any true
	grep -q many.def "$T/strace"
}

@test "bad files are reported, and write nothing" {
	for text in '' '{' '[1,' '[1, 2]' '[]' '{}' '{"Events": 5}' '{"Events": ["a"]}' '17' 'null' '{"Events"'; do
		printf '%s' "$text" >"$T/bad.json"
		go -1 cpc-events -C GenuineIntel-6-AD -o "$T/bad.def" import "$T/bad.json"
		[[ $stderr == "cpc-events: invalid "*" '$T/bad.json'"* ]]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[ ! -e "$T/bad.def" ]
	done
	for text in '' '{' '[1,' '[1, tru'; do
		printf '%s' "$text" >"$T/bad.json"
		go -1 cpc-events -C GenuineIntel-6-AD import "$T/bad.json"
		[ "$stderr" = "cpc-events: invalid JSON in '$T/bad.json': it ends too early" ]
	done
	while read -r line text; do
		printf '%b' "$text" >"$T/bad.json"
		go -1 cpc-events -C GenuineIntel-6-AD import "$T/bad.json"
		[[ $stderr == "cpc-events: invalid JSON in '$T/bad.json': line $line: "* ]]
	done <<-'END'
		1 {"Events"; []}
		3 {"Events": [\n\n{"EventName" "A"}]}
		2 [\ntru]
		2 {"Events": [{}]}\n}
		4 [\n{},\n{},\n{x}]
	END
	printf '[{"EventName": "A B", "EventCode": "0x1"}]' >"$T/bad.json"
	go -1 cpc-events -C GenuineIntel-6-AD -o "$T/bad.def" import "$T/bad.json"
	[[ $stderr == *"cannot write any definition: no event can be expressed" ]]
	[ ! -e "$T/bad.def" ]
	printf '{"Backend": "Of the back end", "Frontend": "Of the front end"}' >"$T/metricgroups.json"
	go -0 cpc-events -C GenuineIntel-6-AD import "$FILES/intel.json" "$T/metricgroups.json"
	[[ $stderr == *"'$T/metricgroups.json': no events; it describes groups of metrics" ]]
	go -1 cpc-events -C GenuineIntel-6-AD import "$T/none.json"
	[ "$stderr" = "cpc-events: cannot read '$T/none.json': No such file or directory" ]
	go -1 cpc-events import "$FILES/kernel.json"
	[[ $stderr == *"name it with --cpu"* ]]
	for cpu in 'a b' Foo x skl GenuineIntel GenuineIntel-6 0x410fd0c0 0xno \
		GenuineIntel-6-AD,Foo ''; do
		go -2 cpc-events -C "$cpu" import "$FILES/kernel.json"
	done
	for cpu in 'GenuineIntel-6-A[DE]' AuthenticAMD-26-2-1 'AuthenticAMD-25-*' 'GenuineIntel-*' '*' \
		GenuineIntel-6-AD,GenuineIntel-6-AE 0x00000000410fd0c0 '0x00000000410fd*'; do
		go -0 cpc-events -C "$cpu" import "$FILES/kernel.json"
		grep -qxF "[$cpu]" <<<"$output"
	done
	go -2 cpc-events frob
	go -1 cpc-events -C GenuineIntel-6-AD -o /nonexistent/x import "$FILES/kernel.json"
	# Deeply nested files, and all prefixes of a valid file.
	printf '[%.0s' {1..10000} >"$T/bad.json"
	go -1 cpc-events -C GenuineIntel-6-AD import "$T/bad.json"
	for ((n = 1; n < 400; n += 7)); do
		head -c "$n" "$FILES/arm.json" >"$T/bad.json"
		go -1 cpc-events import "$T/bad.json"
	done
}
