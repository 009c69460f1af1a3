#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat --top: a screen, sorted, in a terminal that is restored at the end.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need cpu
	if TERM=xterm script -q -e -c 'cpustat --top --shared -c page-faults 0.01 1' /dev/null </dev/null |
		grep -q 'built without terminfo'; then
		skip "built without terminfo"
	fi
}

teardown() {
	common_teardown
}

# on_terminal ROWS COLUMNS KEYS ARGUMENT...: cpustat on a terminal of that size; KEYS are typed,
# or, when they begin with SIG, that signal is sent, after the second screen.
on_terminal() {
	"${LIMIT[@]}" python3 - "$@" <<-'EOF'
	import fcntl, os, pty, re, signal, struct, sys, termios
	rows, columns, keys = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
	main, side = pty.openpty()
	fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
	before = termios.tcgetattr(side)
	pid = os.fork()
	if pid == 0:
	    os.setsid()
	    fcntl.ioctl(side, termios.TIOCSCTTY, 0)
	    for fd in (0, 1, 2):
	        os.dup2(side, fd)
	    os.environ["TERM"] = "xterm"
	    os.execvp("cpustat", ["cpustat", "--top", "--shared", *sys.argv[4:]])
	text, typed = "", False
	while "\x1b[?1049l" not in text:
	    text += os.read(main, 65536).decode()
	    if not typed and text.count("\x1b[J") >= 2 and keys:
	        typed = True
	        if keys.startswith("SIG"):
	            os.kill(pid, getattr(signal, keys))
	        else:
	            os.write(main, keys.encode())
	status = os.waitpid(pid, 0)[1]
	assert termios.tcgetattr(side) == before, "the terminal is not as it was"
	assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
	frames = re.findall(r"\x1b\[H( .*?)\x1b\[J", text, re.S)
	assert len(frames) >= 2, text
	for frame in frames:
	    lines = [line.replace("\x1b[K", "") for line in re.split(r"[\r\n]+", frame)]
	    assert len(lines) <= rows and all(len(line) <= columns for line in lines), lines
	    counts = [int(line.split()[1]) for line in lines[2:] if len(line.split()) > 1]
	    assert counts == sorted(counts, reverse=True), lines
	    print("frame", len(lines) - 2, "rows;", lines[0].strip(), "|", " ".join(lines[1].split()))
	print("signal", os.WTERMSIG(status)) if os.WIFSIGNALED(status) else print("status", os.WEXITSTATUS(status))
	EOF
}

@test "q quits; each screen is sorted, and the terminal is restored" {
	run on_terminal 24 80 q -c page-faults,context-switches 0.05
	echo "$output"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "status 0" ]
	# Two of the 24 lines are the header.
	rows=$(cpus | head -n 22 | wc -l)
	[[ ${lines[0]} == "frame $rows rows; "*"; q quits | cpu page-faults context-switches" ]]
	run on_terminal 24 80 xyq -c page-faults 0.05
	[ "${lines[-1]}" = "status 0" ]
}

@test "a count ends it, and so do signals; units; several specs take turns" {
	run on_terminal 24 80 '' -A all -c page-faults 0.02 3
	echo "$output"
	[ "$(grep -c '^frame 1 rows' <<<"$output")" -eq 3 ]
	[ "${lines[-1]}" = "status 0" ]
	run on_terminal 24 80 SIGTERM -c page-faults 0.02
	[ "${lines[-1]}" = "signal 15" ]
	run on_terminal 24 80 '' -c page-faults -c context-switches 0.02 4
	[ "$(grep -c '| cpu context-switches' <<<"$output")" -eq 2 ]
}

@test "a small screen has as many rows and columns as fit" {
	run on_terminal 3 20 '' -c page-faults,context-switches,task-clock 0.02 3
	echo "$output"
	[ "$(grep -c '^frame 1 rows' <<<"$output")" -eq 3 ]
	[ "${lines[-1]}" = "status 0" ]
	# A column is there as a whole or not at all.
	run on_terminal 24 35 '' -c page-faults,context-switches 0.02 2
	echo "$output"
	[ "$(grep -c '| cpu page-faults$' <<<"$output")" -eq 2 ]
	[ "${lines[-1]}" = "status 0" ]
}

@test "a file that is not a terminal is refused, and a table that does not fit, too" {
	go -2 cpustat --top --shared -c page-faults 0.01 1
	[ "$stderr" = "cpustat: cannot use --top: the standard output is not a terminal" ]
	for bad in "-o $T/o" --format=csv --by=cpu; do
		# shellcheck disable=SC2086 # words
		go -2 cpustat --top --shared $bad -c page-faults 0.01 1
	done
	need_terminal
	TERM=no-such script -q -e -c 'cpustat --top --shared -c page-faults 0.01 1' /dev/null </dev/null >"$T/out" || true
	grep -F "the terminal (TERM='no-such') lacks capabilities" "$T/out"
}

@test "^Z gives the terminal back, and fg has the screen again" {
	"${LIMIT[@]}" python3 - <<-'EOF'
	import fcntl, os, pty, re, signal, struct, termios
	main, side = pty.openpty()
	fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
	before = termios.tcgetattr(side)
	told, tell = os.pipe()
	shell = os.fork()
	if shell == 0:  # as shells do with their jobs
	    os.setsid()
	    fcntl.ioctl(side, termios.TIOCSCTTY, 0)
	    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
	    job = os.fork()
	    if job == 0:
	        os.setpgid(0, 0)
	        os.tcsetpgrp(side, os.getpid())
	        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
	        for fd in (0, 1, 2):
	            os.dup2(side, fd)
	        os.environ["TERM"] = "xterm"
	        os.execvp("cpustat", ["cpustat", "--top", "--shared", "-c", "page-faults", "0.2"])
	    stopped = os.WIFSTOPPED(os.waitpid(job, os.WUNTRACED)[1])
	    same = termios.tcgetattr(side) == before
	    os.write(tell, b"stopped\n" if stopped and same else b"not stopped, or not as before\n")
	    os.kill(job, signal.SIGCONT)
	    status = os.waitpid(job, 0)[1]
	    os._exit(0 if status == 0 and termios.tcgetattr(side) == before else 1)
	text = ""
	def read_until(what, times):
	    global text
	    while text.count(what) < times:
	        text += os.read(main, 65536).decode()
	read_until("\x1b[J", 2)
	os.write(main, b"\x1a")
	assert os.read(told, 100) == b"stopped\n"
	read_until("\x1b[?1049h", 2)
	done, back = text.rsplit("\x1b[?1049h", 1)
	assert done.count("\x1b[?1049l") == 1, repr(text)
	count = text.count("\x1b[J")
	read_until("\x1b[J", count + 2)
	os.write(main, b"q")
	read_until("\x1b[?1049l", 2)
	assert os.waitpid(shell, 0)[1] == 0
	frames = [re.findall(r"\x1b\[H( .*?)\x1b\[J", part, re.S) for part in text.split("\x1b[?1049h")]
	# at once, and then those that follow; one that was stopped on its way is twice there
	assert frames[2][0] in (frames[1][-1], frames[2][1]) and len(frames[2]) >= 2, frames
	EOF
}
