"""
Write the Helm chart from deploy/kubernetes, and check it with Helm: `make chart`.

    python -m deploy.helm [--write-only]

If `helm` is not installed, Go builds it into the cache folder, once (200 s of CPU time).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from deploy.helm.chart import CHART, PROJECT, files

VERSION = "v3.22.0"
CACHE = Path(os.environ.get("ARAGOG_CACHE", PROJECT / ".cache"))


def find() -> Path | None:
    """Return the installed helm, or the one built before."""
    cached = CACHE / "helm" / VERSION / "helm"
    system = shutil.which("helm")
    return Path(system) if system else cached if cached.exists() else None


def build() -> Path:
    """Build helm with Go. Exits if that is impossible."""
    go = shutil.which("go")
    if not go:
        raise SystemExit("deploy.helm: neither helm nor go is installed: apt install golang")
    folder = CACHE / "helm" / VERSION
    folder.mkdir(parents=True, exist_ok=True)
    print(f"building helm {VERSION} (some minutes, once)", flush=True)
    module = f"helm.sh/helm/v3/cmd/helm@{VERSION}"
    subprocess.run([go, "install", module], env={**os.environ, "GOBIN": str(folder)}, check=True)
    return folder / "helm"


def main() -> None:
    """Write the files, then lint the chart with both sets of values."""
    parser = argparse.ArgumentParser(description="Write the Helm chart, and check it with Helm.")
    parser.add_argument("--write-only", action="store_true", help="do not run helm")
    options = parser.parse_args()
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if options.write_only:
        return
    helm = find() or build()
    for values in ([], ["--values", CHART / "values-postgres.yaml"]):
        subprocess.run([helm, "lint", "--strict", *values, CHART], check=True)


if __name__ == "__main__":
    main()
