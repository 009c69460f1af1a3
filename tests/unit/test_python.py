# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""The Python module, with counts that are known: a page is a fault when it is first touched."""

import errno
import mmap
import os
import subprocess
import sys
import threading
import unittest

import cpc

PAGE = mmap.PAGESIZE


def pages(n):
    """Memory of n untouched pages."""
    mem = mmap.mmap(-1, n * PAGE)
    mem.madvise(mmap.MADV_NOHUGEPAGE)
    return mem


def touch(mem, n):
    """Touches n pages, without a new object for each."""
    for at in range(0, n * PAGE, PAGE):
        mem[at] = 1


class TestCounting(unittest.TestCase):
    def setUp(self):
        touch(pages(10), 10)
        with cpc.counting("page-faults,minor-faults") as c:  # the interpreter has done it all once
            touch(pages(10), 10)
            repr(c)

    def count(self, n):
        mem = pages(n)
        with cpc.counting("page-faults") as c:
            touch(mem, n)
        return c["page-faults"]

    def test_exact(self):
        # Some of the interpreter's own may come to it, but none with each page.
        self.assertIn(self.count(1000) - 1000, range(40))
        self.assertIn(self.count(5000) - 5000, range(40))

    def test_mapping(self):
        mem = pages(30)
        c = cpc.counting("page-faults,minor-faults", "task-clock")
        self.assertEqual(list(c), ["page-faults", "minor-faults", "task-clock"])
        self.assertEqual(dict(c), {"page-faults": 0, "minor-faults": 0, "task-clock": 0})
        with c:
            touch(mem, 10)
            first = c["page-faults"]
            touch(mem, 30)
            self.assertEqual(c["page-faults"] - first, 20)
        self.assertEqual(c["page-faults"], c["minor-faults"])
        self.assertGreater(c["task-clock"], 0)
        self.assertGreater(c.time, 0)
        self.assertGreater(c.cycles, 0)
        self.assertEqual(c.scaled("page-faults"), (c["page-faults"], ""))
        with self.assertRaises(KeyError):
            c["page-fautls"]
        after = dict(c)
        touch(pages(100), 100)
        self.assertEqual(dict(c), after)
        self.assertRegex(repr(c), r"^<cpc.Counting page-faults: \d+, minor-faults: \d+, "
                                  r"task-clock: \d+; \d\.\d{6} s>$")

    def test_entered_again(self):
        c = cpc.counting("page-faults")
        for n in range(1, 4):
            mem = pages(500)
            with c:
                touch(mem, 500)
            self.assertIn(c["page-faults"] - n * 500, range(60))
        with c:
            with self.assertRaisesRegex(cpc.Error, "it is counting already"):
                with c:
                    pass

    def test_nested(self):
        mem = pages(600)
        with cpc.counting("page-faults") as outer:
            touch(mem, 100)
            with cpc.counting("page-faults") as same:
                touch(mem, 300)
            # Another set for both, in which the outer one counts on.
            with cpc.counting("minor-faults", "context-switches") as other:
                touch(mem, 600)
        self.assertIn(same["page-faults"] - 200, range(40))
        self.assertIn(other["minor-faults"] - 300, range(40))
        self.assertIn(outer["page-faults"] - 600, range(40))

    def test_threads(self):
        counts = []

        def work(n):
            mem = pages(n)
            with cpc.counting("page-faults") as c:
                touch(mem, n)
            counts.append(c["page-faults"] - n)

        threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(1, 9)]
        with cpc.counting("page-faults") as c:
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(len(counts), 8)
        for extra in counts:
            self.assertIn(extra, range(40))
        self.assertLess(c["page-faults"], 1000)  # a thread counts itself alone

    def test_other_thread(self):
        said = []

        def leave(c):
            try:
                c.__exit__(None, None, None)
            except cpc.Error as e:
                said.append((e.errno, e.strerror))

        with cpc.counting("page-faults") as c:
            t = threading.Thread(target=leave, args=(c,))
            t.start()
            t.join()
        self.assertEqual(said, [(errno.EINVAL, "it was counting in another thread")])

    def test_fork(self):
        with cpc.counting("page-faults") as c:
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    c["page-faults"]
                except cpc.Error as e:
                    status = 0 if e.strerror == "it was counting in the parent process" else 2
                if status == 0 and self.count(1000) not in range(1000, 1100):
                    status = 3
                os._exit(status)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertGreater(c["page-faults"], 0)

    def test_exceptions(self):
        c = cpc.counting("page-faults")
        with self.assertRaises(ZeroDivisionError):
            with c:
                touch(pages(10), 10)
                1 / 0
        self.assertGreaterEqual(c["page-faults"], 10)


class TestErrors(unittest.TestCase):
    def test_unknown(self):
        with self.assertRaises(cpc.Error) as caught:
            with cpc.counting("page-fautls"):
                pass
        self.assertEqual(caught.exception.errno, errno.EINVAL)
        self.assertEqual(caught.exception.strerror,
                         "unknown event 'page-fautls' (did you mean 'page-faults'?)")
        self.assertEqual(caught.exception.function, "cpc_set_add_request")
        self.assertEqual(caught.exception.subcode, 1)
        self.assertIsInstance(caught.exception, OSError)

    def test_refused_inside(self):
        mem = pages(20)
        with cpc.counting("page-faults") as c:
            with self.assertRaisesRegex(cpc.Error, "unknown event"):
                with cpc.counting("nosuch"):
                    pass
            touch(mem, 20)
        self.assertGreaterEqual(c["page-faults"], 20)

    def test_specs(self):
        for spec, text in (("", "unknown event ''"), ("sys", "no events to be counted"),
                           ("page-faults,nouser", "event 'page-faults' would be counted neither in "
                                                  "user nor in kernel mode"),
                           ("page-faults\0", "invalid name of an event: it contains a NUL character")):
            with self.assertRaises(cpc.Error) as caught:
                with cpc.counting(spec):
                    pass
            self.assertEqual(caught.exception.strerror, text)

    def test_words(self):
        for spec, names in (("faults,cs", ["faults", "cs"]),
                            ("uprobe/func=/bin/sh:main,ret/,faults",
                             ["uprobe/func=/bin/sh:main,ret/", "faults"]),
                            ('uprobe/func="a/,b"/,sys,faults', ['uprobe/func="a/,b"/', "faults"])):
            self.assertEqual([name for name, _ in cpc._read([spec])], names)

    def test_library(self):
        env = dict(os.environ, CPC_LIBRARY="/no/such/library")
        run = subprocess.run([sys.executable, "-c", "import cpc; cpc.npic()"], env=env,
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/no/such/library", run.stderr.splitlines()[-1])


class TestMachine(unittest.TestCase):
    def test_events(self):
        found = cpc.events()
        self.assertIn("software", {e.group for e in found})
        self.assertIn("page-faults", {e.name for e in found if e.group == "software"})

    def test_interface(self):
        self.assertGreaterEqual(cpc.npic(), 1)
        self.assertTrue(cpc.interface())


if __name__ == "__main__":
    unittest.main()
