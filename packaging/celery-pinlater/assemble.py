"""
Assemble the source of the distribution celery-pinlater: `python assemble.py FOLDER`.

It is `aragog.pinlater` with the few modules of aragog that it uses, as one package
`celery_pinlater`, so that both distributions can be installed together (docs/adr/0070).
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BESIDE = ("redis_kit", "clock.py", "errors.py", "secret.py", "terminal.py")
CODE = re.compile(r"\baragog\.pinlater\b|\baragog\b(?=\.[a-z_])")


def assemble(folder: Path) -> None:
    """Write everything that builds the distribution into `folder`, which is made."""
    package = folder / "celery_pinlater"
    shutil.copytree(
        ROOT / "aragog" / "pinlater", package, ignore=shutil.ignore_patterns("__pycache__", "*.md")
    )
    for name in BESIDE:
        source = ROOT / "aragog" / name
        if source.is_dir():
            shutil.copytree(source, package / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, package / name)
    shutil.copy(ROOT / "aragog" / "pinlater" / "README.md", folder / "README.md")
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    shutil.copy(HERE / "pyproject.toml", folder / "pyproject.toml")
    for path in [folder / "README.md", *package.rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        text = text.replace("from aragog import", "from celery_pinlater import")
        path.write_text(CODE.sub("celery_pinlater", text), encoding="utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
