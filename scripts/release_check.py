"""
Check that the tree is consistent for a release: `make release-check`, with its tag `TAG=v0.1.0`.

    python scripts/release_check.py [TAG]

The version is in pyproject.toml. CHANGELOG.md must have a section with it and a date, and the
Kubernetes manifests, the Helm chart and the commands in the documentation must name it. With a tag,
the tag must be the version, and no change may be unreleased. It prints what is wrong and exits with
1.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
# Where else the version is written, and the text around it.
VERSION_PATTERNS = (
    ("deploy/kubernetes/kustomization.yaml", r"newTag: (\S+)"),
    ("deploy/helm/aragog/Chart.yaml", r"^version: (\S+)"),
    ("docs/deployment.md", r"aragog_crawler-([\d.]+)-py3"),
)


def problems(root: Path, tag: str) -> Iterator[str]:
    """Yield what is wrong, one line each."""
    metadata = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    version = metadata["version"]
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, and pyproject.toml has the version {version}"
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    headings = [section.partition("\n")[0] for section in sections]
    if not any(
        re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", heading) for heading in headings
    ):
        yield f"CHANGELOG.md has no section `## {version} - ` with a date"
    unreleased = [part.partition("\n")[2].strip() for part in sections if part.startswith("Unrel")]
    if tag and any(unreleased):
        yield f"CHANGELOG.md has unreleased changes: move them to {version}"
    for name, pattern in VERSION_PATTERNS:
        versions = set(re.findall(pattern, (root / name).read_text(), re.MULTILINE))
        if versions != {version}:
            yield f"{name} has {', '.join(sorted(versions)) or 'no version'} instead of {version}"


def main(arguments: list[str]) -> int:
    """Check the tree. Returns the exit status."""
    lines = list(problems(PROJECT, (*arguments, "")[0]))
    for line in lines:
        print(f"release-check: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
