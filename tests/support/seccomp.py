"""
Run a command as an ordinary user under a seccomp profile in Docker's form, without Docker.

    python tests/support/seccomp.py profile.json command …

Supports profiles that allow by default, and rules that compare arguments for equality. As root, the
command runs as `nobody`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

LIBRARY = "libseccomp.so.2"
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NOBODY = 65_534
PR_SET_NO_NEW_PRIVS = 38
EQUAL = 4
NEWER = frozenset({"open_tree_attr"})
"""Calls that many versions of libseccomp do not know yet. Docker ignores unknown calls."""


class Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = (
        ("arg", ctypes.c_uint), ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64), ("datum_b", ctypes.c_uint64),
    )  # fmt: skip


def comparisons(rule: dict) -> ctypes.Array:
    """Return the argument comparisons of a rule."""
    args = rule.get("args", ())
    assert all(arg["op"] == "SCMP_CMP_EQ" for arg in args)
    return (Comparison * len(args))(*((a["index"], EQUAL, a["value"], 0) for a in args))


def apply(profile: dict) -> None:
    """Load the profile's filter for this process and its children."""
    library = ctypes.CDLL(LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    context = ctypes.c_void_p(library.seccomp_init(ALLOW))
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ERRNO"
        compared = comparisons(rule)
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == -1 and name in NEWER:
                continue
            assert number != -1, f"{name} is not known"
            action = ctypes.c_uint32(ERRNO | rule["errnoRet"])
            added = library.seccomp_rule_add_array(context, action, number, len(compared), compared)
            assert added == 0, name
    assert library.seccomp_load(context) == 0


def main(path: str, *command: str) -> None:
    """Become an ordinary user, then run the command."""
    profile = json.loads(Path(path).read_text())
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    assert ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    apply(profile)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
