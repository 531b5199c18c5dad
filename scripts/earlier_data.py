"""
Make the data folder of an earlier version, for the upgrade test.

    python scripts/earlier_data.py COMMIT tests/data/earlier/FOLDER.tar.xz

builds the wheel of COMMIT, installs it with the versions of its own lock, and has that version
crawl the demo sites, watch a page, and stop while jobs wait in a paused queue. The archive contains
the folder as it was left, without logs, and records.jsonl, the records as that version exported
them. Needs access to PyPI, and Linux with Python 3.11. The result contains nothing of this tree.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
WAITING = [f"http://www.shop.test/p/later-{number}" for number in range(5)]
EXCLUDED = {"logs", "run"}
WATCHED = "http://www.shop.test/p/brass-lamp"


def run(folder: Path, *argv: str | Path, **environ: str) -> None:
    """Run a command. Exits if it fails."""
    print("$", *(Path(part).name if isinstance(part, Path) else part for part in argv), flush=True)
    subprocess.run(
        [str(part) for part in argv], cwd=folder, env={**os.environ, **environ},
        stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip


def install(commit: str, folder: Path) -> Path:
    """Install a commit's wheel in an empty environment. Returns its `aragog` program."""
    source, venv = folder / "source", folder / "venv"
    run(folder, "git", "clone", "--quiet", "--no-hardlinks", PROJECT, source)
    run(source, "git", "checkout", "--quiet", commit)
    lock = (source / "requirements.lock").read_text()
    versions = folder / "constraints.txt"
    versions.write_text("\n".join(re.findall(r"^(\w.*?)(?: \\)?$", lock, re.MULTILINE)))
    run(
        source, UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python",
        sys.executable, "--out-dir", folder / "dist", ".",
    )  # fmt: skip
    (wheel,) = (folder / "dist").glob("*.whl")
    run(folder, UV, "venv", "--quiet", "--python", sys.executable, venv)
    run(
        folder, UV, "pip", "install", "--quiet", "--python", venv / "bin" / "python",
        "--only-binary", ":all:", "--constraint", versions, wheel,
    )  # fmt: skip
    return venv / "bin" / "aragog"


def make_data(aragog: Path, folder: Path) -> None:
    """Crawl, watch, and stop half-way. Writes folder/var and folder/records.jsonl."""
    environ = {
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_SETTINGS": "",
        "ARAGOG_SERVING__HTTP_PORT": "0",
        "ARAGOG_SERVING__THRIFT_PORT": "0",
    }
    run(folder, aragog, "run", "--stop", **environ)
    run(folder, aragog, "up", "-d", **environ)
    run(folder, aragog, "queue", "pause", "fetch", **environ)
    run(folder, aragog, "enqueue", *WAITING, **environ)
    run(folder, aragog, "watch", "--owner", "shop-team", WATCHED, **environ)
    run(folder, aragog, "down", **environ)
    run(folder, aragog, "store", "export", folder / "records.jsonl", **environ)


def main(commit: str, archive: Path) -> None:
    """Make the archive."""
    archive = archive.absolute()
    with tempfile.TemporaryDirectory(prefix="ar") as directory:
        folder = Path(directory)
        make_data(install(commit, folder), folder)
        with tarfile.open(archive, "w:xz", preset=9) as out:
            for path in (*sorted((folder / "var").iterdir()), folder / "records.jsonl"):
                if path.name not in EXCLUDED:
                    out.add(path, path.relative_to(folder), filter=anonymize)
    print(f"{archive}: {archive.stat().st_size} bytes")


def anonymize(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return a member without the creator's user names and ids, or None for a socket."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member if member.isfile() or member.isdir() else None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
