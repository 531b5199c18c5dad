"""
Select the entries of requirements.lock that a report of pip names, with their hashes.

    python hashed_requirements.py report.json requirements.lock > chosen.txt

The report is written by `pip install --dry-run --report`. Fails if the lock has no entry for a
package in the version of the report, or not the hash of the file that pip would install.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")


def normalize_name(name: str) -> str:
    """Return a normalized name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lock_entries(lock: str) -> dict[tuple[str, str], str]:
    """Return the entries of a lock file, with their hashes, by name and version."""
    entries_by_package: dict[tuple[str, str], str] = {}
    for entry in re.split(r"\n(?=\S)", lock):
        if pinned := _PINNED.match(entry):
            entries_by_package[normalize_name(pinned[1]), pinned[2]] = re.sub(
                r"\n *#.*", "", entry
            ).rstrip(" \\\n")
    return entries_by_package


def choose_entries(report: dict[str, object], lock: str) -> list[str]:
    """Return the lock's entries for a report's packages. Raises ValueError if one is missing."""
    locked = lock_entries(lock)
    chosen = []
    for item in report["install"]:  # type: ignore[attr-defined]
        name, version = normalize_name(item["metadata"]["name"]), item["metadata"]["version"]
        if "dir_info" in item["download_info"]:  # the crawler and its libraries, from this checkout
            continue
        entry = locked.get((name, version))
        digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if entry is None or not digest or f"sha256:{digest}" not in entry:
            raise ValueError(f"{name} {version}: requirements.lock does not have this file")
        chosen.append(entry)
    return chosen


if __name__ == "__main__":
    made = json.loads(Path(sys.argv[1]).read_text())
    print("\n".join(choose_entries(made, Path(sys.argv[2]).read_text())))
