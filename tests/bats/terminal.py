#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""terminal.py ROWS COLUMNS STEP... -- COMMAND... - run a command on a terminal, as a shell's job.

Steps:
    wait:REGEX      wait until the screen matches
    next            wait until its first line has changed: another interval is shown
    type:TEXT       type; backslash sequences are those of Python
    size:ROWS,COLUMNS
    kill:SIGNAL[,PID]
                    to the command, or to this process
    until:FILE      wait until the file has contents
    show            print the screen
    deaf            from now on nothing of the output is read; draws until the terminal is full
    stopped, fg     wait until the job has stopped; continue it
    hangup          the terminal goes away; the last step

Prints at the end what the command has left on the terminal after its screen, with "> " before each line that is
not a message, how the command ended, and "colours" if it used any. Fails if the terminal is not
as it was after the end or while the job is stopped. TERM is the minimal terminal of terminal.ti,
so that few sequences need to be understood.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

LIMIT = 30  # seconds for each step
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """The contents of a screen."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.colours = False
        self.entered = self.left = 0
        self.rest = ""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = {}  # of the rows that were written to
        self.x = self.y = 0

    def line(self, y):
        return "".join(self.cells.get(y, "")).rstrip()

    def text(self):
        return "\n".join(map(self.line, range(max(self.cells, default=-1) + 1)))

    def clear(self, y, x):
        if y in self.cells:
            self.cells[y][x:] = [" "] * (self.columns - x)

    def control(self, args, final):
        if final == "H":
            y, x = [int(n) for n in args.split(";")] if args else (1, 1)
            self.y, self.x = y - 1, x - 1
        elif final == "J":
            for y in self.cells:
                if y >= self.y:
                    self.clear(y, self.x if y == self.y else 0)
        elif final == "K":
            self.clear(self.y, self.x)
        elif final == "m":
            self.colours |= re.search(r"(^|;)[34][0-7]\b", args) is not None
        elif args == "?1049" and final in "hl":
            self.resize(self.rows, self.columns)  # empty
            self.entered += final == "h"
            self.left += final == "l"
        else:
            assert args == "?25", f"unknown sequence: {args}{final}"

    def put(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            self.y += 1
        elif char == "\b":
            self.x -= 1
        else:
            assert char >= " ", f"unknown character: {char!r}"
            assert self.y < self.rows and self.x < self.columns, f"outside of the screen: {char}"
            self.cells.setdefault(self.y, [" "] * self.columns)[self.x] = char
            self.x += 1
            if self.x == self.columns:
                self.x, self.y = 0, self.y + 1

    def write(self, text):
        """Returns the text that was not on the screen of the command."""
        text, outside, at = self.rest + text, "", 0
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if found:
                self.control(*found.groups())
                at = found.end()
                continue
            if text[at] == "\x1b":
                break  # the rest is to come
            if self.entered == self.left:
                outside += text[at]
            else:
                self.put(text[at])
            at += 1
        self.rest = text[at:]
        return outside


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def be_shell(main, side, command, orders, reports):
    """Run the command as a shell runs a job; report what happens to it."""
    os.setsid()
    os.close(main)
    fcntl.ioctl(side, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    before = termios.tcgetattr(side)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(side, os.getpid())
        for sig in (signal.SIGTTOU, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(sig, signal.SIG_DFL)
        for fd in (0, 1, 2):
            os.dup2(side, fd)
        os.execvp(command[0], command)
    os.write(reports, f"{job}\n".encode())
    while True:
        status = os.waitpid(job, os.WUNTRACED)[1]
        same = ""
        try:
            if termios.tcgetattr(side) != before:
                same = "; the terminal is not as it was"
            os.tcsetpgrp(side, os.getpid())
        except (termios.error, OSError):
            pass  # it has gone
        if not os.WIFSTOPPED(status):
            how = "signal" if os.WIFSIGNALED(status) else "status"
            code = os.WTERMSIG(status) if how == "signal" else os.WEXITSTATUS(status)
            os.write(reports, f"{how} {code}{same}\n".encode())
            os._exit(0)
        os.write(reports, f"stopped{same}\n".encode())
        os.read(orders, 1)
        os.tcsetpgrp(side, job)
        os.killpg(job, signal.SIGCONT)


class Terminal:
    def __init__(self, rows, columns, command):
        self.main, self.side = pty.openpty()
        set_size(self.main, rows, columns)
        orders, self.orders = os.pipe()
        self.reports, reports = os.pipe()
        self.shell = os.fork()
        if self.shell == 0:
            be_shell(self.main, self.side, command, orders, reports)
        os.close(reports)
        self.screen = Screen(rows, columns)
        self.deaf = None
        self.report = self.outside = ""  # of the shell; on the terminal beside the screen
        self.pump(lambda: "\n" in self.report, "the start")
        job, self.report = self.report.split("\n", 1)
        self.job = int(job)

    def pump(self, until, what):
        """Read output until something is the case."""
        end = time.monotonic() + LIMIT
        decode = codecs.getincrementaldecoder("ascii")().decode
        while not until():
            left = end - time.monotonic()
            files = [file for file in (self.main, self.reports) if file is not None and file != self.deaf]
            ready = select.select(files, [], [], min(max(left, 0), 0.1))[0]
            if left < 0 or re.match(r"status|signal", self.report):
                sys.exit(f"in vain: {what}\n{self.screen.text()}\n{self.outside}{self.report}")
            if self.main in ready:
                text = decode(os.read(self.main, 65536))
                self.outside += self.screen.write(text)
            elif ready:
                self.report += os.read(self.reports, 100).decode()

    def is_idle(self):
        """The screen is complete."""
        return self.main is None or not select.select([self.main], [], [], 0.03)[0]

    def fill(self):
        self.deaf = self.main
        kept, before = self.kept(), -1
        while kept == 0 or kept != before:
            os.write(self.main, b"\x0c" * 8)  # each draws the whole screen again
            time.sleep(0.2)
            kept, before = self.kept(), kept

    def kept(self):
        return struct.unpack("i", fcntl.ioctl(self.main, termios.FIONREAD, bytes(4)))[0]

    def step(self, step):
        name, _, arg = step.partition(":")
        screen = self.screen
        if name == "wait":
            self.pump(lambda: re.search(arg, screen.text(), re.M) and self.is_idle(), step)
        elif name == "next":
            line = screen.line(0)
            self.pump(lambda: screen.line(0) != line and self.is_idle(), step)
        elif name == "type":
            os.write(self.main, codecs.decode(arg, "unicode_escape").encode())
        elif name == "size":
            rows, columns = [int(n) for n in arg.split(",")]
            screen.resize(rows, columns)
            set_size(self.main, rows, columns)
        elif name == "kill":
            which, _, pid = arg.partition(",")
            os.kill(int(pid or self.job), getattr(signal, "SIG" + which))
        elif name == "show":
            print(screen.text())
        elif name == "until":
            self.pump(lambda: os.path.exists(arg) and os.path.getsize(arg) > 0, step)
        elif name == "deaf":
            self.fill()
        elif name == "stopped":
            self.pump(lambda: "\n" in self.report, step)
            assert self.report == "stopped\n", self.report
            assert screen.entered == screen.left, "the job has not left the screen"
            self.report = ""
        elif name == "hangup":
            os.close(self.main)
            os.close(self.side)
            self.main = None
            self.pump(lambda: "\n" in self.report, step)
        elif name == "fg":
            os.write(self.orders, b"f")
        else:
            sys.exit(f"unknown step {step}")

    def end(self):
        self.pump(lambda: "\n" in self.report, "the end")
        while not self.is_idle():
            self.outside += self.screen.write(os.read(self.main, 65536).decode())
        gone = self.main is None or self.deaf is not None
        assert gone or self.screen.entered == self.screen.left, "the screen was not left"
        for line in self.outside.replace("\r", "").splitlines():
            is_left = self.screen.left > 0 and not re.match(r"cp[a-z]+: ", line)
            print("> " * is_left + line)
        print(self.report, end="")
        if self.screen.colours:
            print("colours")


def main():
    at = sys.argv.index("--")
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[at + 1:])
    for step in sys.argv[3:at]:
        terminal.step(step)
    terminal.end()


main()
