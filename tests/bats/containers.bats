#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Containers that a runtime starts: it moves a running process into each.

# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

setup() {
	common_setup
	need_keys
	need_command podman runc gcc
	PODMAN=(podman --root "$T/storage" --runroot "$T/run" --storage-driver vfs --cgroup-manager cgroupfs --runtime runc)
	mkdir "$T/image"
	gcc -static -O1 -o "$T/image/change-keys" "$BATS_DIR/../work/change-keys.c" -lpthread
	tar -C "$T/image" -cf "$T/image.tar" change-keys
	"${PODMAN[@]}" import -q "$T/image.tar" counted >"$T/import" 2>&1 || skip "podman cannot store images here: $(tail -n1 "$T/import")"
	run_in_container >"$T/first" 2>&1 || skip "podman cannot run containers here: $(tail -n1 "$T/first")"
}

teardown() {
	common_teardown
}

# A container with 20,000 page faults, and those of its start.  Writes its id.
run_in_container() {
	rm -f "$T/id"
	"${PODMAN[@]}" run --rm --network=none --ulimit nofile=1024:1024 --ulimit nproc=100:100 --cidfile "$T/id" \
		counted /change-keys names 1 1 20000 && cat "$T/id"
}

@test "each start of a container of podman and runc: all its counts, and no incomplete row" {
	local rounds=5
	in_short || rounds=100
	start stat cpustat -o "$ROWS" --format=json -A container -c page-faults,task-clock 0.3
	eventually test -s "$ROWS"
	for _ in $(seq $rounds); do
		run_in_container >>"$T/ids"
		echo >>"$T/ids"
	done
	kill -INT "${PIDS[stat]}"
	finish stat
	cat "$T/stat.err"
	jq -e -s --rawfile ids "$T/ids" --argjson rounds $rounds '
		map(select(.kind == "tick")) as $rows | ($rows | map(select(has("incomplete"))) | length == 0) and
		([$ids | splits("\n+") | select(. != "")] | length == $rounds and all(
			. as $id | $rows | map(select(.container_id == $id) | .counts["page-faults"]) | add | . >= 20000 and . < 30000)) and
		(($rows | map(.counts["page-faults"]) | add) == (map(select(.kind == "total"))[0].counts["page-faults"]))' "$ROWS"
	# The kernel tells the CPU of the process that is moved.
	if [ ! -e /sys/fs/cgroup/memory ] && [ -e /sys/bus/event_source/devices/kprobe ]; then
		[ ! -s "$T/stat.err" ]
		jq -e -s 'all(has("late") | not)' "$ROWS"
	fi
}
