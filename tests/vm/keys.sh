#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# keys.sh [few|moved] - counts of all CPUs, divided among cgroups, services, containers, users and commands;
# as root.  It also runs on the machine of the tests.  few: without the cases that are the same on all kernels.
# moved: those of a process that another one moves.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk and other shells
. ./check.sh
fifo=${TMPDIR:-/tmp}/fifo
few=${1-}

spec=page-faults,context-switches,task-clock
interval=0.5

# count KEY COLUMN: a count of a key in the last output, over all samples.
count() {
	awk -v key="$1" -v column="$2" '$2 == key { n += $column } END { printf "%d\n", n }' "$out"
}

# adds_up COLUMN...: the keys of all samples add up to the total.
adds_up() {
	awk -v columns="$*" 'BEGIN { n = split(columns, column) }
		$3 == "tick" { for (i = 1; i <= n; i++) sum[i] += $column[i] }
		$3 == "total" { for (i = 1; i <= n; i++) bad += sum[i] != $column[i]; totals++ }
		END { exit bad || totals != 1 }' "$out"
}

# while_counting "OPTIONS" COMMAND...: run the command while cpustat counts, and until it does not.
while_counting() {
	options=$1
	shift
	status=0
	rm -f "$out"
	# shellcheck disable=SC2086 # several words
	cpustat -c "$spec" $options "$interval" >"$out" 2>"$err" &
	cpustat=$!
	until [ -s "$out" ] || ! kill -0 $cpustat; do sleep 0.1; done 2>/dev/null
	"$@"
	kill -INT $cpustat
	wait $cpustat || status=$?
	same "$options: ended by the signal" "$status" 130
}

# ---- cgroups: a program that moves itself, one that is moved while it sleeps, and short-lived ones -------
root=/sys/fs/cgroup
[ -d $root/memory ] && root=$root/memory
mount_cgroups $root
id=$(printf %012x $$)
container=${id}0123456789abcdef0123456789abcdef0123456789abcdef0123
pod=12345678-9abc-def0-1234-$id
slice=keys$$.slice
service=$root/$slice/some-$$.service/part
docker=$root/$slice/docker-$container.scope
kube=$root/$slice/kubepods.slice/kubepods-pod$(echo "$pod" | tr - _).slice/cri-containerd-$container.scope
part=$(printf %0250d 0)
long=$service/$part/$part/$part
made="$root/rest-$$ $root/a-$$ $root/b-$$ $long $docker $kube"
# shellcheck disable=SC2086 # several words
mkdir -p $made

# move A B [ROUNDS FAULTS]
move() {
	change-keys cgroup $root/rest-$$/cgroup.procs "$1/cgroup.procs" "$2/cgroup.procs" "${3:-100}" "${4:-50}"
}

moved_by_another() {
	# The kernel tells its CPU.
	while_counting "-A cgroup" change-keys moved $root/a-$$/cgroup.procs $root/b-$$/cgroup.procs 100 50
	same "200 moves of a running process by another one: the one" "$(count /a-$$ 4)" 5000
	same "...and the other" "$(count /b-$$ 4)" 5000
	# A switch at the moment of a move can be marked, though its counts are right.
	check "...and next to nothing is marked" [ "$(sed -n 's/.*# late //p' "$out" | awk '{ n += $1 } END { print n + 0 }')" -le 4 ]
	same "...nor incomplete" "$(grep incomplete "$out")" ""
}
if [ "$few" = moved ]; then
	moved_by_another
	finish
	exit # with its status
fi

while_counting "-A cgroup" move $root/a-$$ $root/b-$$
same "100 moves between cgroups in the middle of a slice: the one" "$(count /a-$$ 4)" 5000
same "...and the other" "$(count /b-$$ 4)" 5000
check "the keys add up to the CPUs" adds_up 4 5 6
same "nothing was missed" "$(cat "$err")" ""

# Samples that interrupt the kernel in the middle of a move.
interval=0.002
while_counting "-A cgroup" move $root/a-$$ $root/b-$$ 500 20
same "2000 moves, some of them while a sample is taken: the one" "$(count /a-$$ 4)" 10000
same "...and the other" "$(count /b-$$ 4)" 10000
same "nothing was missed" "$(cat "$err")" ""
interval=0.5

moved_by_us() {
	spin 1 &
	while echo $! >$root/a-$$/cgroup.procs && echo $! >$root/b-$$/cgroup.procs; do
		sleep 0.01
	done 2>/dev/null
	wait $!
}
if [ "$(nproc)" -gt 1 ] && [ $root = /sys/fs/cgroup ] && [ -e /sys/bus/event_source/devices/kprobe ]; then
	moved_by_another
elif [ "$(nproc)" -gt 1 ]; then
	while_counting "-A cgroup" moved_by_us
	check "the cgroup that a running LWP is moved from is marked" grep -q "^ *[0-9.]* /a-$$ .* # late [1-9]" "$out"
	check "...and the one that it is moved to" grep -q "^ *[0-9.]* /b-$$ .* # late [1-9]" "$out"
	check "...and that is reported" grep -q "^cpustat: [0-9]* times* a running LWP changed its cgroup unnoticed" "$err"
	same "...no row is incomplete" "$(grep incomplete "$out")" ""
fi

short() {
	for i in 1 2 3 4 5 6 7 8 9 10; do
		mkdir $root/short-$$-$i
			sh -c 'echo 0 >$0/cgroup.procs; change-keys command x y z 1 50' $root/short-$$-$i
		until rmdir $root/short-$$-$i 2>/dev/null; do :; done
	done
}
while_counting "-A cgroup" short
check "cgroups that are gone before the sample have rows" awk -v name="/short-$$-" '
	index($2, name) == 1 && $4 >= 100 { seen[$2] } END { for (i in seen) n++; exit n != 10 }' "$out"

sleepers() {
	mkfifo "$fifo"
	sh -c 'echo 0 >$0/cgroup.procs; read line; exec change-keys command x y z 1 50' \
		$root/a-$$ <"$fifo" &
	exec 3>"$fifo"
	until [ "$(sed 's/.*) //; s/ .*//' /proc/$!/stat)" = S ]; do sleep 0.1; done
	echo $! >$root/b-$$/cgroup.procs
	echo go >&3
	exec 3>&-
	wait $!
	rm "$fifo"
}
while_counting "-A cgroup" sleepers
check "what another one moved while it slept counts there" [ "$(count /b-$$ 4)" -ge 100 ]

# What depends on the names of cgroups alone.
by_path() {
	while_counting "-A cgroup --depth=1" move "$service" $root/b-$$
	same "--depth=1 adds up what is below" "$(count /$slice 4)" 5000

	while_counting "-A service" move "$service" "$docker"
	same "a service with a cgroup below" "$(count some-$$.service 4)" 5000
	same "a container of Docker" "$(count "docker-$id" 4)" 5000
	while_counting "-A service" move "$long" "$service/$part"
	same "what has no known path is of no known service" "$(count ... 4)" 5000
	same "...and long names have theirs" "$(count some-$$.service 4)" 5000
	chown 1000 "$root/a-$$"
	mkdir "$root/a-$$/docker-$container.scope"
	while_counting "-A container" move "$root/a-$$/docker-$container.scope" "$docker"
	same "a container of Docker" "$(count "docker-$id" 4)" 5000
	same "what a user creates in a cgroup of its own looks like none" "$(count "/a-$$/docker-$id" 4)" 5000
	while_counting "-A service" move "$root/a-$$/docker-$container.scope" "$docker"
	same "...and is of the service of that cgroup" "$(count "/a-$$" 4) $(count "docker-$id" 4)" "5000 5000"
	rmdir "$root/a-$$/docker-$container.scope"
	while_counting "-A container" move "$docker" "$kube"
	same "containers of Docker" "$(count "docker-$id" 4)" 5000
	same "containers of a pod" "$(count "cri-containerd-$id" 4)" 5000
	while_counting "--by=service --format=json" move $root/a-$$ "$kube"
	check "the uid of the pod" grep -q "\"service\":\"pod-$pod\".*\"pod_id\":\"$pod\".*\"page-faults\":5000" "$out"

	# ---- cputrack --by and --cgroup: programs of a service, and what enters it ------------------
	serve() {
		sh -c 'echo 0 >$0/cgroup.procs; change-keys command x y z 1 500; change-keys command x y z 1 500; true' "$service"
	}
	tracked() {
		awk -v key="$1" '$1 == key { print $2, ($3 >= 2000 && $3 < 2500 ? "2000" : $3) }' "$out"
	}
	for engine in kernel ptrace; do
		cputrack --engine=$engine --by=service -c page-faults:u sh -c "$(cat <<-END
			sh -c 'echo 0 >"$service/cgroup.procs"; exec sh -c "change-keys command x y z 1 500
				change-keys command x y z 1 500; true"'
			change-keys command x y z 1 500
		END
		)" >"$out" 2>"$err" || cat "$err"
		# two shells, two more from fork to exec, and two programs with 1000 faults
		same "$engine: programs of a service" "$(tracked some-$$.service)" "6 2000"
		same "$engine: without a message" "$(cat "$err")" ""
	done
	rm -f "$out"
	cputrack --cgroup="/$slice" -v -T 0 -c page-faults:u >"$out" 2>"$err" &
	cputrack=$!
	until [ -s "$out" ] || ! kill -0 $cputrack; do sleep 0.1; done 2>/dev/null
	serve
	change-keys command x y z 1 500
	kill -TERM $cputrack
	wait $cputrack || true
	same "--cgroup: those that enter it, and what they create" \
		"$(awk '$4 == "exit" { n++; faults += $5 >= 500 } END { print n, faults }' "$out")" "3 2"
	check "...without a message" [ ! -s "$err" ]
}
[ -n "$few" ] || by_path

for folder in $made; do
	while rmdir "$folder" 2>/dev/null && [ "$folder" != $root ]; do folder=$(dirname "$folder"); done
done

# ---- users and commands -----------------------------------------------------------------------
while_counting "-A command" change-keys command change-keys one-$$ two-$$ 100 50
same "a program that renames itself: one name" "$(count one-$$ 4)" 5000
same "...and another" "$(count two-$$ 4)" 5000
check "the keys add up to the CPUs" adds_up 4 5 6
if [ -z "$few" ]; then
	while_counting "-A command" change-keys command "(idle)" "(kernel)" "(others)" 100 500
	same "a program with the names of fixed keys" "$(count '\\050kernel)' 4) $(count '\\050others)' 4)" "50000 50000"
	check "...which are other rows" [ "$(count "(kernel)" 4)" -lt 25000 ]
	same "...and none is incomplete" "$(grep -c '#' "$out")" 0
	while_counting "-A command" change-keys command "" "" one 100 500
	same "a program without a name" "$(count "(empty)" 4 | cut -c -3)" 500
fi

# Another thread renames the running one to b-N and back: two names of 500 faults, or both are marked.  If the running
# one is just being switched away, only one is, but then its counts are right.
wrong_renames() {
	awk '$3 == "tick" && $2 ~ /^[ab]-[0-9]+$/ {
			n[$2] += $4
			if (/ # late /) late[$2]
			sub(/.-/, "", $2)
			rounds[$2]
		} END {
			for (i in rounds) {
				a = "a-" i
				b = "b-" i
				m++
				marked = (a in late) + (b in late)
				if (n[a] + n[b] != 1000 || n[a] != 500 && marked != 2)
					print i, n[a], n[b], marked
			}
			if (m != 50)
				print m
		}' "$out"
}
while_counting "-A command" change-keys renamed 1 50 500
same "50 running threads that another one renames and renames back" "$(wrong_renames)" ""
check "...and the keys add up to the CPUs" adds_up 4 5 6
same "...no other row is marked, and none is incomplete" \
	"$(awk '/#/ && ($2 !~ /^[ab]-[0-9]+$/ || /incomplete/)' "$out" | grep -v ' rest ')" ""
while_counting "-A command" sh -c 'change-keys command change-keys change-keys two 1 500; true'
check "exec ends the name before" [ "$(count change-keys 4)" -ge 500 ]

spec=Instr_cnt,page-faults
if cpustat -c $spec 0.01 1 >"$out" 2>"$err"; then
	while_counting "-A command" sh -c 'bare; bare; bare'
	same "instructions of hardware counters" "$(count bare 4)" 3000000
	check "the keys add up to the CPUs" adds_up 4 5
	same "nothing was missed" "$(cat "$err")" ""
fi
spec=page-faults,context-switches,task-clock

user=$((100000 + $$ * 2))
if [ -e /sys/bus/event_source/devices/kprobe ]; then
	while_counting "-A user" change-keys user 0 "$user" $((user + 1)) 100 50
	same "setresuid(2) in the middle of a slice: the one user" "$(count $user 4)" 5000
	same "...and the other" "$(count $((user + 1)) 4)" 5000
	same "...and nothing is marked" "$(grep '#' "$out"; cat "$err")" ""
else
	# This kernel shows a new user only at a switch, of which there are some in a second.
	while_counting "-A user" change-keys user 0 "$user" $((user + 1)) 2000 50
	check "users that changed unnoticed are reported" \
		grep -q "^cpustat: [0-9]* times* a running LWP changed its user unnoticed" "$err"
	check "and marked" grep -q "^ *[0-9.]* [0-9]* .* # late [1-9]" "$out"
fi
check "the keys add up to the CPUs" adds_up 4 5 6
finish
