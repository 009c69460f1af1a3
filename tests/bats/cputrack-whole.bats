#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Real programs, very many LWPs, and the sudden end of cputrack.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# same COMMAND...: tracked, it writes and returns exactly the same.
same() {
	mkdir -p "$T/place"
	cd "$T/place" || return 1
	go "$@"
	printf '%s\n' "$status" "$output" "$stderr" >"$T/alone"
	rm -rf "$T/place"
	mkdir "$T/place"
	cd "$T/place" || return 1
	track "${OPTIONS[@]}" -T 0.01 -c page-faults "$@"
	# a message counts what was not followed
	printf '%s\n' "$status" "$output" "$(grep -v '^cputrack: not counted: ' <<<"$stderr")" >"$T/tracked"
	cmp "$T/alone" "$T/tracked"
	check_format
	[ "${OPTIONS[0]}" != -fe ] || check_life
}

setup() {
	common_setup
	OPTIONS=(-fe)
}

@test "python: processes and threads" {
	need_command python3
	cat >"$T/script.py" <<'END'
import multiprocessing as mp, os, subprocess, sys, threading

def square(x):
    return x * x

def fail(n):
    sys.exit(n)

if __name__ == "__main__":
    for how in "fork", "spawn", "forkserver":
        ctx = mp.get_context(how)
        with ctx.Pool(3) as pool:
            print(how, sum(pool.map(square, range(1000))), flush=True)
        queue = ctx.Queue()
        child = ctx.Process(target=queue.put, args=(how,))
        child.start()
        print(queue.get(), flush=True)
        child.join()
        child = ctx.Process(target=fail, args=(7,))
        child.start()
        child.join()
        print(child.exitcode, flush=True)
    done = []
    threads = [threading.Thread(target=done.append, args=(i,)) for i in range(50)]
    for t in threads: t.start()
    for t in threads: t.join()
    print(len(done), subprocess.run("kill -9 $$", shell=True).returncode, flush=True)
    os._exit(3)
END
	# After _exit(2), Python 3.13 lists semaphores by their random names.
	export PYTHONWARNINGS=ignore
	same python3 "$T/script.py"
	grep -qx 3 "$T/tracked"
}

@test "node: worker threads and children" {
	need_command node
	cat >"$T/script.js" <<'END'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync, spawnSync } = require('child_process');
if (isMainThread) {
	const sums = [];
	for (let i = 0; i < 4; i++) {
		const w = new Worker(__filename, { workerData: i });
		w.on('message', (sum) => {
			sums.push(sum);
			if (sums.length === 4) {
				console.log(sums.sort((a, b) => a - b).join(' '));
				console.log(execFileSync('echo', ['child']).toString().trim());
				console.log(spawnSync('sh', ['-c', 'kill -TERM $$']).signal);
				process.exitCode = 5;
			}
		});
	}
} else {
	let sum = 0;
	for (let i = 0; i < 100000; i++)
		sum += i % (workerData + 2);
	parentPort.postMessage(sum);
}
END
	same node "$T/script.js"
	grep -qx 5 "$T/tracked"
}

@test "git: a repository is made, packed, checked and cloned" {
	need_command git
	# shellcheck disable=SC2016 # for the inner shell
	same env -i HOME="$T" PATH="$PATH" GIT_CONFIG_NOSYSTEM=1 sh -c '
		export GIT_AUTHOR_DATE="2001-01-01 00:00:00 +0000" \
			GIT_COMMITTER_DATE="2001-01-01 00:00:00 +0000" \
			GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		git init -q -b main r && cd r && for i in 1 2 3 4 5; do
			seq $i 1000 >file && git add . && git commit -q -m "number $i" || exit 1
		done
		git repack -a -d -q && git gc -q && git fsck 2>&1 && git log --stat | tail -n 20
		git clone -q . ../copy && git -C ../copy rev-parse HEAD
		git bisect start -q HEAD HEAD~4 && git bisect run sh -c "test \$(head -n1 file) -lt 3" | tail -n 3
		git diff --exit-code HEAD HEAD~1 >/dev/null'
}

# The binaries are compared, not the output: make prints in any order.
# bats test_tags=all
@test "a real package, configured and made with make -j2: a library of this one" {
	need_command cmake make
	# shellcheck disable=SC2016 # for the inner shell
	build=(sh -c 'rm -rf "$0" && cmake -S "$1" -B "$0" -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON &&
		shift && make -C "$0" -j2 "$@"' "$T/make" "$BATS_TEST_DIRNAME/../..")
	unset MAKEFLAGS MAKELEVEL
	go -0 "${build[@]}" cpc pctx
	mv "$T/make" "$T/alone"
	track -0 -fe -c page-faults "${build[@]}" pctx
	[ -z "$stderr" ]
	cmp "$T"/{make,alone}/libpctx.so
	# The shared libraries that it made export what the headers declare.
	for lib in cpc pctx; do
		header=$(find "$BATS_TEST_DIRNAME/../../include" -name "lib$lib*.h" | sort | tail -n 1) # with the others in it
		exported=$(nm -D --defined-only "$T/alone/lib$lib.so" | awk -v prefix="${lib}_" '
			$2 == "T" { sub(/@.*/, "", $3); if (index($3, prefix) == 1) print $3 }' | sort)
		declared=$(gcc -E -P -xc "$header" \
			-I "$BATS_TEST_DIRNAME/../../include" | tr '\n' ' ' | grep -oE "\<${lib}_[a-z_]+\(" |
			tr -d '(' | grep -v '_t$' | sort -u)
		[ -n "$declared" ]
		[ -z "$(comm -13 <(echo "$exported") <(echo "$declared"))" ]
		# Other exported functions are used by inline functions of the headers, or by cputrack alone.
		for function in $(comm -23 <(echo "$exported") <(echo "$declared")); do
			(cd "$BATS_TEST_DIRNAME/../.." &&
				grep -q "\<$function(" include/*.h libcpc/set/counter.h libcpc/sys/outpath.h libpctx/untraced.h)
		done
	done
	check_format
	check_life
	[ "$(count_of fork)" -ge 100 ]
}

@test "a shell's test suite: pipes, traps, jobs, here-documents" {
	cat >"$T/suite" <<'END'
n=0
ok() { n=$((n + 1)); [ "$1" = "$2" ] && echo "ok $n" || { echo "not ok $n: $1, not $2"; bad=1; }; }
ok "$(seq 100 | sort -rn | head -n 1)" 100
ok "$(sh -c 'kill -TERM $$' 2>/dev/null; echo $?)" 143
ok "$(sh -c 'trap "echo usr1" USR1; kill -USR1 $$')" usr1
ok "$(sh -c 'trap "echo end" EXIT; exit 4'; echo $?)" "end
4"
sleep 0.05 & a=$!
(exit 9) & b=$!
wait $b; ok $? 9
wait $a; ok $? 0
sh -c 'kill -STOP $$; exit 6' & c=$!
# A loop: whether it has stopped itself cannot be seen, since ptrace stops look the same.
>going; while [ -e going ]; do kill -CONT $c 2>/dev/null; sleep 0.02; done & d=$!
wait $c; ok $? 6
rm going; wait $d
ok "$(cat <<EOT
here $(echo there)
EOT
)" "here there"
ok "$(yes | head -n 3 | tr '\n' ,)" y,y,y,
ok "$(timeout 0.05 sleep 10; echo $?)" 124
ok "$(echo a b c | xargs -n 1 -P 3 echo | sort | tr '\n' ' ')" "a b c "
ok "$(find /nonexistent 2>/dev/null | wc -l)" 0
exit ${bad-2}
END
	for shell in sh bash; do
		same "$shell" "$T/suite"
		grep -qx 2 "$T/tracked"
		[ "$(grep -c "not ok" "$T/tracked")" -eq 0 ]
	done
}

@test "gdb, tracked without -f, runs and stops a program" {
	need_command gdb
	OPTIONS=(-e)
	same gdb -nx -q -batch -ex 'set print inferior-events off' -ex 'break _exit' -ex run \
		-ex 'print status' -ex kill --args "$WORK/touch-pages" 10
}

@test "an unreadable or set-id copy of the program is counted from its start to its last call" {
	need_tracepoints syscalls/sys_enter_getpriority
	set_tracefs
	cd "$T"
	for kind in plain unreadable setuid setgid; do
		track -0 -fe -T 0.005 -c page-faults,syscalls:sys_enter_getpriority "$WORK/exec-special" "$kind"
		[ -z "$stderr" ]
		[ "$(rows_of exit | awk '$5 == 11 && $4 >= 5' | wc -l)" -eq 3 ]
	done
}

# The number of a limit that may be "unlimited" or "max".
number_or_million() {
	if [[ $1 =~ ^[0-9]+$ ]]; then
		echo "$1"
	else
		echo 1000000
	fi
}

at_most() {
	[ "$lwps" -le "$1" ] || lwps=$1
}

# bats test_tags=all
@test "10000 LWPs at once: all are attached, counted, and detached" {
	need attach
	lwps=10000
	at_most $((($(cat /proc/sys/kernel/pid_max) - 2000) / 2))
	at_most $((($(cat /proc/sys/kernel/threads-max) - 2000) / 2))
	at_most $(($(cat /proc/sys/vm/max_map_count) / 2 - 500))
	at_most $(($(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo) / 80)) # 40 KiB each
	at_most $(($(number_or_million "$(ulimit -Hn)") - 100))
	at_most $(($(number_or_million "$(ulimit -Hu)") / 2))
	for file in /sys/fs/cgroup{/pids,}"$(sed -n 's/^0:://p; s/^[0-9]*:pids://p' /proc/self/cgroup | head -n1)"/pids.max; do
		[ ! -r "$file" ] || at_most $(($(number_or_million "$(cat "$file")") / 2))
	done
	echo "$lwps"
	start crowd "$WORK/thread-pool" -p 3 "$lwps"
	eventually said crowd ready
	tell crowd g
	eventually said crowd "done"
	start ct cputrack -o "$ROWS" -v -T 0.5 -c page-faults -p "${PIDS[crowd]}"
	eventually has_rows tick $((lwps + 1))
	tell crowd g
	eventually said crowd "done" 2
	tell crowd x
	finish crowd
	[ "$status" -eq 5 ]
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	check_sums
	[ "$(count_of lwp_exit)" -eq "$lwps" ]
	[ "$(rows_of lwp_exit | awk '$4 == 3' | wc -l)" -eq "$lwps" ]
	[ "$(sum_of exit)" -ge $((3 * lwps)) ]
	[ "$(sum_of exit)" -le $((3 * lwps + 50)) ]
}

# instructions N: sets $n to the instructions that cputrack takes for N threads at once.
instructions() {
	go -0 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$CPC_BUILD/cputrack" \
		-fe -T 0 -c page-faults -o "$ROWS" "$WORK/thread-pool" "$1" </dev/null >/dev/null
	[ "$(count_of lwp_exit)" -eq "$1" ] || return 1
	n=$(sed -n 's/.*Collected : //p' <<<"$stderr")
	[ -n "$n" ]
}

# bats test_tags=all
@test "an LWP costs the same, however many there are" {
	need_command valgrind
	need_unsanitized "valgrind does not run sanitized programs"
	instructions 200
	few=$n
	instructions 400
	more=$n
	instructions 1200
	echo "$few $more $n"
	[ $(((n - more) / 4)) -le $(((more - few) * 6 / 5)) ]
}

has_rows() {
	[ "$(grep -c " $1 " "$ROWS")" -ge "$2" ]
}

# cputrack is killed at a random moment, CPC_KILLS times.  What it has started runs on to its end, and
# nothing stays stopped.  (The loop variable is not i, which run changes.)
killed_at_any_moment() {
	local nth
	for ((nth = 0; nth < ${CPC_KILLS:-2}; nth++)); do
		moment=0.0$(printf %02d $((RANDOM % 100)))
		# shellcheck disable=SC2016 # for the inner shell
		go -0 "$WORK/check-leftovers" 60 sh -c \
			'cputrack -fe -T 0.005 -c page-faults -o /dev/null "$@" >/dev/null & sleep '"$moment"'
			kill -9 $! 2>/dev/null; wait $! 2>/dev/null; :' sh "$@" >/dev/null
		[[ -z $stderr || $stderr == *Killed* ]] || { echo "$stderr"; false; }
	done
}

killed_attached() {
	local nth
	for ((nth = 0; nth < ${CPC_KILLS:-2}; nth++)); do
		moment=0.0$(printf %02d $((RANDOM % 100)))
		go -0 "$WORK/check-leftovers" -a $((RANDOM % 20000)) \
			"cputrack -fe -T 0.005 -c page-faults -o /dev/null -p \$PID 2>/dev/null &
			sleep $moment; kill -9 \$! 2>/dev/null" 60 "$@" >/dev/null
		[ -z "$stderr" ]
		[[ $output =~ ^(PASS)?$ ]]
	done
}

@test "cputrack is killed in storms that it started: they end well" {
	for storm in 'forks 1000' 'threads 2000' 'vforks -x 200' 'killed-parents -c 500 60 threads' \
		'exec-races many' 'signal-kinds raised'; do
		# shellcheck disable=SC2086 # words
		killed_at_any_moment "$WORK/"$storm
	done
}

# bats test_tags=all
@test "cputrack is killed in storms that it attached to: they end well" {
	need attach
	for storm in 'forks 1000' 'threads 2000' 'vforks -x 200' 'killed-parents -c 500 60 threads' \
		'exec-races many' 'signal-kinds raised'; do
		# shellcheck disable=SC2086 # words
		killed_attached "$WORK/"$storm
	done
}
