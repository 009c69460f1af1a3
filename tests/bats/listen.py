# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""For listen.bats: readers of cpustat --listen.  The environment variable PORT says where it is."""
import http.client, os, re, socket, subprocess, time

PORT = int(os.environ["PORT"])
LIMIT = 60  # seconds, for hangs only
BASE = os.getpid() * 10000  # other tests of this machine may use numbers as names, too
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class Reader:
    """A connection that stays open, as Prometheus' does."""

    def __init__(self, agent="a", accept="*/*"):
        self.headers = {"User-Agent": agent, "Accept": accept}
        self.connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=LIMIT)

    def ask(self, method="GET", path="/metrics"):
        self.connection.request(method, path, headers=self.headers)
        answer = self.connection.getresponse()
        self.text = answer.read().decode()
        return answer

    def read(self, path="/metrics"):
        """All samples, by name and labels."""
        answer = self.ask(path=path)
        assert answer.status == 200, answer.status
        assert self.text.endswith("# EOF\n") or not self.text
        return {k: float(v) for k, v in re.findall(r"^([^#\n].*) ([^ \n]+)$", self.text, re.M)}

    def value(self, path="/metrics", **labels):
        """Of the only series of the events with these labels; None: there is none.  Numbers are names of fault()."""
        want = {f'{k}="{BASE + v if isinstance(v, int) else v}"' for k, v in labels.items()}
        found = [v for k, v in self.read(path).items() if "_total{" in k and want <= set(re.findall(r'\w+="[^"]*"', k))]
        assert len(found) < 2, found
        return found[0] if found else None

    def close(self):
        self.connection.close()


def fault(program, first, last, faults):
    """Runs change-keys, with so many page faults under each of the names."""
    subprocess.run([program, "names", str(BASE + first), str(BASE + last), str(faults)], check=True)


def ask_and_end():
    """The names of fault() and their counts that a client gets that ends its own direction of the connection."""
    with socket.create_connection(("127.0.0.1", PORT), timeout=LIMIT) as s:
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        s.shutdown(socket.SHUT_WR)
        found = re.findall(rb'^cpc_events_total.*command="(\d+)"} (\d+)$', s.makefile("rb").read(), re.M)
        return {int(name) - BASE: int(count) for name, count in found}


def eventually(test):
    end = time.monotonic() + LIMIT
    while not (value := test()):
        assert time.monotonic() < end, "never came true"
        time.sleep(0.02)
    return value
