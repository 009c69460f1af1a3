# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
"""Writes the output; other users may change links and directories on its path at any time."""
import errno
import os
import secrets
import stat
import sys

from read import fail, printable

MAX_LINKS = 40  # as the kernel
PLACE = os.O_PATH | os.O_NOFOLLOW


def others_write(place):
    """Can other users write to this directory? For root these are also its owner and group."""
    mode = place.st_mode
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and mode & stat.S_ISVTX):
        return True
    return os.geteuid() == 0 and (place.st_uid != 0 or bool(mode & stat.S_IWGRP and place.st_gid != 0))


def refuse(why):
    raise OSError(errno.EACCES, why)


def find(path):
    """The directory of a file, as a descriptor, its name there, and its status or None. Foreign links are not followed."""
    names = [name for name in path.split("/") if name][::-1]
    directory = os.open("/" if path.startswith("/") else ".", os.O_PATH | os.O_DIRECTORY)
    links = 0
    while names:
        name = names.pop()
        try:
            fd = os.open(name, PLACE, dir_fd=directory)
        except FileNotFoundError:
            if names:
                raise
            return directory, name, None
        status = os.fstat(fd)
        if not stat.S_ISLNK(status.st_mode):
            if not names:
                os.close(fd)
                return directory, name, status
            os.close(directory)
            directory = fd
            continue
        if others_write(os.fstat(directory)) and (status.st_uid not in (0, os.geteuid()) or status.st_nlink > 1):
            refuse(f"the link '{printable(name)}' of user {status.st_uid} is not followed; name its target")
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink("", dir_fd=fd)
        os.close(fd)
        names += [part for part in target.split("/") if part][::-1]
        if target.startswith("/"):
            os.close(directory)
            directory = os.open("/", os.O_PATH | os.O_DIRECTORY)
    raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))


def replace(directory, name, old, content):
    """Writes a new file with the owner and mode of the old one, and renames it."""
    temporary = f".{name[:200]}.{secrets.token_hex(8)}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666 if old is None else 0o600,
                 dir_fd=directory)
    try:
        with open(fd, "wb") as file:
            if old is not None:
                if (os.fstat(fd).st_uid, os.fstat(fd).st_gid) != (old.st_uid, old.st_gid):
                    os.chown(fd, old.st_uid, old.st_gid)
                os.chmod(fd, old.st_mode & 0o777)
            file.write(content)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise


def write_found(path, content):
    directory, name, old = find(path)
    place = os.fstat(directory)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if old is not None and others_write(place) and old.st_uid not in (0, os.geteuid(), place.st_uid):
        refuse(f"it belongs to user {old.st_uid}, in a directory where other users can write; "
               "remove it or choose another directory")
    in_place = old is not None and not stat.S_ISREG(old.st_mode)
    if not in_place:
        try:
            replace(directory, name, old, content)
        except OSError as e:
            # It is a mount point, or only the file may be written, not its directory.
            in_place = old is not None and e.errno in (errno.EBUSY, errno.EPERM, errno.EACCES, errno.EROFS)
            if not in_place:
                raise
    if in_place:
        with open(os.open(name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=directory), "wb") as file:
            file.write(content)
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                file.truncate()


def write(path, content):
    """Replaces a regular file at once; writes directly to a device. None: the standard output."""
    try:
        if path is None:
            sys.stdout.buffer.write(content)
        elif path in ("/dev/stdout", "/dev/stderr") or path.startswith("/dev/fd/"):
            with open(path, "wb") as file:
                file.write(content)
        else:
            write_found(path, content)
    except OSError as e:
        if path is None:
            raise
        fail(f"cannot write '{printable(path)}': {e.strerror}")
