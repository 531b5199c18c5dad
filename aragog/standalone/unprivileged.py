"""
Run a program that refuses to run as root: `python unprivileged.py FOLDER PROGRAM ARGUMENT …`.

PostgreSQL is such a program. For an ordinary user, this process is simply replaced by the program.
As root, it enters a user namespace in which root has another id: the program runs without
privileges, but its files still belong to root. If the kernel refuses that (as in most containers),
or FOLDER belongs to another user, it switches to that user or, for root's folder, to `nobody`. The
user then owns the folder, and the group of `nobody` may pass through the parent folder. This module
imports nothing from aragog, so it starts within 20 ms.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWUSER = 0x10000000  # unshare(2)
PR_SET_PDEATHSIG, PR_GET_PDEATHSIG = 1, 2  # prctl(2)
ROOT_ID_IN_NAMESPACE = 1000
"""The id of root in the namespace. It can be any id except 0."""
NOBODY = 65534


def main(folder: Path, command: list[str]) -> None:
    """Replace this process with the command, without root's privileges."""
    if os.geteuid() == 0:
        parent_death_signal = _get_parent_death_signal()
        owner = folder.stat().st_uid
        if owner or not _enter_namespace():
            _switch_user(owner or NOBODY, folder)
            _require_access(folder, command[0])
        # The kernel clears this when a process changes its credentials.
        _prctl(PR_SET_PDEATHSIG, parent_death_signal)
    os.execv(command[0], command)  # noqa: S606 - replacing the process is the purpose


def _enter_namespace() -> bool:
    """Enter a user namespace that only maps root. Returns False if that is forbidden."""
    if sys.platform != "linux" or ctypes.CDLL(None).unshare(CLONE_NEWUSER) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{ROOT_ID_IN_NAMESPACE} 0 1")
    Path("/proc/self/gid_map").write_text(f"{ROOT_ID_IN_NAMESPACE} 0 1")
    return True


def _switch_user(user: int, folder: Path) -> None:
    """Switch to a user, and make that user the folder's owner."""
    group = NOBODY if user == NOBODY else folder.stat().st_gid
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, group, follow_symlinks=False)
    if user == NOBODY:
        _allow_group(folder.parent, group)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)


def _allow_group(folder: Path, group: int) -> None:
    """Let a group pass through a folder that only root can enter, such as a data folder."""
    status = folder.stat()
    if status.st_uid == 0 and not status.st_mode & 0o077:
        os.chown(folder, -1, group)
        folder.chmod(0o710)


def _require_access(folder: Path, program: str) -> None:
    """Exit with a message if the user may not use the folder or run the program."""
    user = os.getuid()
    remedy = "or start aragog as an ordinary user"
    if not os.access(folder, os.W_OK | os.X_OK):
        sys.exit(
            f"PostgreSQL runs as user {user}, who cannot reach {folder}: choose a data_dir that "
            f"all users can reach, {remedy}"
        )
    if not os.access(program, os.X_OK):
        sys.exit(
            f"PostgreSQL runs as user {user}, who cannot run {program}: install it where all users "
            f"can reach it, {remedy}"
        )


def _get_parent_death_signal() -> int:
    number = ctypes.c_int(0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_GET_PDEATHSIG, ctypes.byref(number))
    return number.value


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
