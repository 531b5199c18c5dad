"""The image installs only files whose hashes are in the lock file."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.docker.hashed_requirements import choose_entries, lock_entries

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
LOCK = (ROOT / "requirements.lock").read_text()


def item(name, version, digest):
    archive = {"hashes": {"sha256": digest}} if digest else {}
    return {"metadata": {"name": name, "version": version},
            "download_info": {"archive_info": archive}}  # fmt: skip


def digests(name):
    (found,) = [
        (version, re.findall(r"sha256:(\w+)", entry))
        for (each, version), entry in lock_entries(LOCK).items()
        if each == name
    ]
    return found


def test_packages_chosen_by_pip_are_listed_with_their_hashes():
    version, (digest, *_) = digests("six")

    ours = {
        "metadata": {"name": "aragog_crawler", "version": "0"},
        "download_info": {"dir_info": {}},
    }

    (entry,) = choose_entries({"install": [item("Six", version, digest), ours]}, LOCK)

    assert entry.startswith(f"six=={version} ")
    assert f"--hash=sha256:{digest}" in entry
    assert "via" not in entry
    assert not entry.endswith("\\")


@pytest.mark.parametrize(
    ("name", "version", "digest"),
    [("six", None, "0" * 64), ("six", "0.1", None), ("none", "1", "0" * 64), ("six", None, "")],
)
def test_file_missing_in_the_lock_is_refused(name, version, digest):
    locked, (locked_digest, *_) = digests("six")
    given = locked_digest if digest is None else digest

    with pytest.raises(ValueError, match="does not have this file"):
        choose_entries({"install": [item(name, version or locked, given)]}, LOCK)


def test_script_fails_if_a_file_is_refused(tmp_path):
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"install": [item("six", "0.1", "0" * 64)]}))
    script = ROOT / "deploy" / "docker" / "hashed_requirements.py"

    done = subprocess.run(
        [sys.executable, script, report, ROOT / "requirements.lock"],
        capture_output=True,
        check=False,
    )

    assert done.returncode != 0
    assert done.stdout == b""


def test_image_installs_nothing_without_hashes():
    """Regression: only the versions were pinned, so any file with that version was installed."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    installs = re.findall(r"pip install ([^&\n]*)", text)

    assert len(installs) == 4
    for options in installs:
        installs_nothing_else = (
            options.split()[:1] == ["--dry-run"] or "--no-deps --no-build-isolation" in options
        )
        assert "--require-hashes" in options or installs_nothing_else, options
