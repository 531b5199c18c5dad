"""
Choose of requirements.lock what a report of pip names, with its hashes.

    python hashed_requirements.py report.json requirements.lock > chosen.txt

The report is that of `pip install --dry-run --report`. Fails if the lock does not have a package in
the version of the report, or not the hash of the file that pip would install.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")


def normal(name: str) -> str:
    """A name in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entries(lock: str) -> dict[tuple[str, str], str]:
    """Each entry of a lock file by name and version, with its lines of hashes."""
    found: dict[tuple[str, str], str] = {}
    for entry in re.split(r"\n(?=\S)", lock):
        if pinned := _PINNED.match(entry):
            found[normal(pinned[1]), pinned[2]] = re.sub(r"\n *#.*", "", entry).rstrip(" \\\n")
    return found


def chosen(report: dict[str, object], lock: str) -> list[str]:
    """The entries of the lock for what the report would install; raises ValueError if one lacks."""
    known = entries(lock)
    result = []
    for item in report["install"]:  # type: ignore[attr-defined]
        name, version = normal(item["metadata"]["name"]), item["metadata"]["version"]
        if "dir_info" in item["download_info"]:  # the crawler and its libraries, from this checkout
            continue
        entry = known.get((name, version))
        digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if entry is None or not digest or f"sha256:{digest}" not in entry:
            raise ValueError(f"{name} {version}: requirements.lock does not have this file")
        result.append(entry)
    return result


if __name__ == "__main__":
    made = json.loads(Path(sys.argv[1]).read_text())
    print("\n".join(chosen(made, Path(sys.argv[2]).read_text())))
