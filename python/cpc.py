# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Count performance events of the calling thread, by libcpc.

    import cpc

    with cpc.counting("page-faults,task-clock") as c:
        work()
    print(c["page-faults"], c)

The names of events are those of cpc-events(7); cpc.events() lists the events of this machine.
Errors are raised as cpc.Error, with the message of libcpc.
"""

import collections.abc
import ctypes
import ctypes.util
import errno
import os
import threading

__all__ = ["Counting", "Error", "Event", "counting", "events", "interface", "npic"]

_VERSION = 2  # CPC_VER_CURRENT
_USER, _SYSTEM, _WARNING = 0x2, 0x4, 0x100
_GROUPS = ("user", "generic", "solaris", "platform", "pmu", "software", "vendor", "tracepoint",
           "function", "ratio", "cpus")
_MASK = (1 << 64) - 1

Event = collections.namedtuple("Event", "group name description")


class Error(OSError):
    """A failed call of libcpc: errno, the message, the function and the subcode.

    Subcodes are those of cpc_seterrhndlr(3); 0 means that errno is sufficient."""

    def __init__(self, err, text, function=None, subcode=0):
        super().__init__(err, text)
        self.function = function
        self.subcode = subcode


class _Message(threading.local):
    """The last error message of libcpc in this thread."""

    last = None


_message = _Message()
_VOID, _INT, _STR, _U64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64
_UINT, _SIZE = ctypes.c_uint, ctypes.c_size_t
# A va_list is passed as a pointer: it is an array on x86-64, and too large for registers on Arm64.
_HANDLER = ctypes.CFUNCTYPE(None, _STR, _INT, _STR, _VOID)
_ACTION = ctypes.CFUNCTYPE(None, _VOID, _INT, _STR, _STR)

_vsnprintf = ctypes.CDLL(None).vsnprintf
_vsnprintf.argtypes = [_STR, _SIZE, _STR, _VOID]


@_HANDLER
def _keep_message(function, subcode, fmt, args):
    if subcode == _WARNING:
        return
    text = ctypes.create_string_buffer(1200)
    _vsnprintf(text, len(text), fmt, args)
    _message.last = (function.decode(), subcode, text.value.decode(errors="replace").rstrip("\n"))


def _find():
    """The path of the library: CPC_LIBRARY, _cpc.so beside this file, or the system's libcpc."""
    path = os.environ.get("CPC_LIBRARY")
    if path:
        return path
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_cpc.so")
    return path if os.path.exists(path) else ctypes.util.find_library("cpc")


class _Library:
    """libcpc, with one handle for all threads."""

    _PROTOTYPES = {
        "cpc_open": (_VOID, _INT),
        "cpc_seterrhndlr": (None, _VOID, _HANDLER),
        "cpc_npic": (_UINT, _VOID),
        "cpc_cciname": (_STR, _VOID),
        "cpc_walk_events_desc": (_INT, _VOID, _VOID, _ACTION),
        "cpc_word_length": (_SIZE, _STR),
        "cpc_set_create": (_VOID, _VOID),
        "cpc_set_destroy": (_INT, _VOID, _VOID),
        "cpc_set_add_request": (_INT, _VOID, _VOID, _STR, _U64, _UINT, _UINT, _VOID),
        "cpc_set_request_scale": (
            _INT, _VOID, _VOID, _INT, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(_STR)),
        "cpc_bind_curlwp": (_INT, _VOID, _VOID, _UINT),
        "cpc_buf_create": (_VOID, _VOID, _VOID),
        "cpc_buf_destroy": (_INT, _VOID, _VOID),
        "cpc_set_sample": (_INT, _VOID, _VOID, _VOID),
        "cpc_buf_get": (_INT, _VOID, _VOID, _INT, ctypes.POINTER(_U64)),
        "cpc_buf_hrtime": (ctypes.c_longlong, _VOID, _VOID),
        "cpc_buf_tick": (_U64, _VOID, _VOID),
    }

    def __init__(self):
        path = _find()
        if path is None:
            raise Error(errno.ENOENT, "libcpc is not installed; CPC_LIBRARY=FILE names its file")
        library = ctypes.CDLL(path, use_errno=True)
        for name, (result, *arguments) in self._PROTOTYPES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)
        self.handle = self.cpc_open(_VERSION)
        if not self.handle:
            err = ctypes.get_errno()
            raise Error(err, os.strerror(err), "cpc_open")
        self.cpc_seterrhndlr(self.handle, _keep_message)

    def call(self, name, *args):
        """Calls a function with the handle; raises an Error if it returns -1 or NULL."""
        _message.last = None
        result = getattr(self, name)(self.handle, *args)
        if result is not None and result != -1:
            return result
        err = ctypes.get_errno()
        function, subcode, text = _message.last or (name, 0, os.strerror(err))
        raise Error(err, text, function, subcode)


_library = None
_lock = threading.Lock()


def _cpc():
    global _library
    with _lock:
        if _library is None:
            _library = _Library()
    return _library


class _Set:
    """A set that the calling thread has bound to itself."""

    def __init__(self, events):
        """Binds all `events`, pairs of a name and flags, or raises an Error."""
        self.cpc = _cpc()
        self.index = {}
        self.scale = {}
        self.buf = None
        self.set = self.cpc.call("cpc_set_create")
        try:
            for event in events:
                self._add(event)
            self.buf = self.cpc.call("cpc_buf_create", self.set)
            self.cpc.call("cpc_bind_curlwp", self.set, 0)
        except BaseException:
            self.close()
            raise

    def _add(self, event):
        scale, unit = ctypes.c_double(), _STR()
        name, flags = event
        index = self.cpc.call(
            "cpc_set_add_request", self.set, name.encode(), 0, flags, 0, None)
        self.cpc.call("cpc_set_request_scale", self.set, index,
                      ctypes.byref(scale), ctypes.byref(unit))
        self.index[event] = index
        self.scale[event] = (scale.value, unit.value.decode())

    def sample(self):
        """The values of all events, the time in nanoseconds, and the cycles."""
        cpc, value = self.cpc, _U64()
        cpc.call("cpc_set_sample", self.set, self.buf)
        values = {}
        for event, index in self.index.items():
            cpc.call("cpc_buf_get", self.buf, index, ctypes.byref(value))
            values[event] = value.value
        values["time"] = cpc.cpc_buf_hrtime(cpc.handle, self.buf)
        values["cycles"] = cpc.cpc_buf_tick(cpc.handle, self.buf)
        return values

    def close(self):
        if self.buf is not None:
            self.cpc.cpc_buf_destroy(self.cpc.handle, self.buf)
        self.cpc.cpc_set_destroy(self.cpc.handle, self.set)


class _Thread(threading.local):
    """The active Counting objects of this thread. They are nested, and share its only set."""

    def __init__(self):
        self.active = []
        self.set = None

    def sample(self):
        """Adds the counts since the last start or sample to all active objects."""
        values = self.set.sample()
        for c in self.active:
            c._take(values)

    def start(self):
        values = self.set.sample()
        for c in self.active:
            c._start = values

    def enter(self, new):
        bound = None
        if self.set is None or any(event not in self.set.index for event in new._events):
            if self.active:
                self.sample()
            union = [event for c in self.active + [new] for event in c._events]
            bound = _Set(dict.fromkeys(union))  # if it is refused, the old set counts on
            if self.set is not None:
                self.set.close()
            self.set = bound
        new._scale = self.set.scale
        self.active.append(new)
        try:
            if bound is not None:
                self.start()
            else:
                new._start = self.set.sample()
        except Error:
            self.drop(new)
            raise

    def drop(self, c):
        self.active.remove(c)
        if not self.active:
            self.set.close()
            self.set = None

    def leave(self, c):
        """Returns the Error of the last sample, or None."""
        error = None
        try:
            c._take(self.set.sample())
        except Error as e:
            error = e
        self.drop(c)
        return error

    def forked(self):
        """Drops the counters in a forked child: they belong to the parent."""
        for c in self.active:
            c._error = Error(errno.EINVAL, "it was counting in the parent process")
            c._thread = None
        self.active = []
        if self.set is not None:
            self.set.close()
            self.set = None


_thread = _Thread()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release,
                    after_in_child=lambda: (_lock.release(), _thread.forked()))


def _split(spec):
    """The words of an event spec."""
    if "\0" in spec:
        raise Error(errno.EINVAL, "invalid name of an event: it contains a NUL character")
    rest = spec.encode()
    while True:
        n = _cpc().cpc_word_length(rest)
        yield rest[:n].decode()
        if n == len(rest):
            return
        rest = rest[n + 1:]


def _read(specs):
    """The events of specs, each once, as pairs of a name and flags."""
    words = [word for spec in specs for word in _split(spec)]
    flags = _USER
    if "sys" in words:
        flags |= _SYSTEM
    if "nouser" in words:
        flags &= ~_USER
    names = dict.fromkeys(word for word in words if word not in ("sys", "nouser"))
    if not names:
        raise Error(errno.EINVAL, "no events to be counted")
    return [(name, flags) for name in names]


class Counting(collections.abc.Mapping):
    """The counts of a with statement: a mapping from names of events to their counts.

    Inside the statement these are the counts so far; after it, those of the whole statement.
    An object can be used again, and then continues its counts.  Each of several nested
    statements counts its own events.  Only the calling thread is counted."""

    def __init__(self, *events):
        self._events = _read(events)
        self._names = {event[0]: event for event in self._events}
        self._count = {event: 0 for event in self._events}
        self._count.update(time=0, cycles=0)
        self._scale = {}
        self._start = None
        self._thread = None  # the thread that is being counted
        self._error = None

    def __enter__(self):
        if self._thread is not None:
            raise Error(errno.EBUSY, "it is counting already")
        self._error = None
        _thread.enter(self)
        self._thread = threading.get_ident()
        return self

    def __exit__(self, kind, value, traceback):
        if self._thread is None:
            return  # in a child process
        if self._thread != threading.get_ident():
            raise Error(errno.EINVAL, "it was counting in another thread")
        self._error = _thread.leave(self)
        self._thread = None
        if self._error is not None and kind is None:
            raise self._error

    def _take(self, values):
        for key in self._count:
            self._count[key] += (values[key] - self._start[key]) & _MASK
        self._start = values

    def _now(self, key):
        if self._error is not None:
            raise self._error
        if self._thread is not None and self._thread == threading.get_ident():
            self._take(_thread.set.sample())
        return self._count[key]

    def __getitem__(self, name):
        return self._now(self._names[name])

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    @property
    def time(self):
        """Nanoseconds in the statement."""
        return self._now("time")

    @property
    def cycles(self):
        """CPU cycles for which the thread was running, as in cpc_buf_tick(3)."""
        return self._now("cycles")

    def scaled(self, name):
        """A count converted to its unit, for example Joules, and the unit; "" for plain counts."""
        scale, unit = self._scale[self._names[name]]
        return self[name] * scale, unit

    def __repr__(self):
        try:
            text = ", ".join(f"{name}: {count}" for name, count in self.items())
            return f"<cpc.Counting {text}; {self._count['time'] / 1e9:.6f} s>"
        except Error as e:
            return f"<cpc.Counting {', '.join(self)}: {e.strerror}>"


def counting(*events):
    """Counts events in a with statement: names, or lists of names separated by commas.

    "sys" among them adds kernel mode, and "nouser" removes user mode."""
    return Counting(*events)


def events():
    """All events that can be counted on this machine, as Events: group, name, description."""
    found = []

    @_ACTION
    def add(_, group, name, description):
        found.append(Event(_GROUPS[group], name.decode(), description.decode()))

    _cpc().call("cpc_walk_events_desc", None, add)
    return found


def npic():
    """The number of slots: hardware counters, or 16 without them; see cpc_npic(3)."""
    cpc = _cpc()
    return cpc.cpc_npic(cpc.handle)


def interface():
    """The name of the counter interface; see cpc_cciname(3)."""
    cpc = _cpc()
    return cpc.cpc_cciname(cpc.handle).decode()
