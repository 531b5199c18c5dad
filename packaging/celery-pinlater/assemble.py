"""
Assemble the source of the distribution celery-pinlater: `python assemble.py FOLDER`.

It is `aragog.pinlater` with the few modules of aragog that it uses, as one package
`celery_pinlater`, so that both distributions can be installed together (docs/adr/0032).
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Of redis_kit: the nodes of the limiter.
LEFT_OUT = ("__pycache__", "nodes.py")
CODE = re.compile(r"\baragog\.pinlater\b|\baragog\b(?=\.[a-z_])")


def beside() -> set[Path]:
    """The modules and packages of aragog that pinlater imports, directly or through others."""
    found: set[Path] = set()
    new = {ROOT / "aragog" / "pinlater"}
    while new:
        part = new.pop()
        found.add(part)
        for path in part.rglob("*.py") if part.is_dir() else [part]:
            new |= {one for one in _imports(path) if one not in found}
    return found - {ROOT / "aragog" / "pinlater"}


def _imports(path: Path) -> set[Path]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("aragog"):
            continue
        parts = (node.module or "").split(".")[1:2]
        for name in parts or [alias.name for alias in node.names]:
            folder = ROOT / "aragog" / name
            found.add(folder if folder.is_dir() else folder.with_suffix(".py"))
    return found


def assemble(folder: Path) -> None:
    """Write everything that builds the distribution into `folder`, which is made."""
    package = folder / "celery_pinlater"
    shutil.copytree(
        ROOT / "aragog" / "pinlater", package, ignore=shutil.ignore_patterns("__pycache__", "*.md")
    )
    for source in beside():
        if source.is_dir():
            ignore = shutil.ignore_patterns(*LEFT_OUT)
            shutil.copytree(source, package / source.name, ignore=ignore)
        else:
            shutil.copy(source, package / source.name)
    shutil.copy(ROOT / "aragog" / "pinlater" / "README.md", folder / "README.md")
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    shutil.copy(HERE / "pyproject.toml", folder / "pyproject.toml")
    for path in [folder / "README.md", *package.rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        text = text.replace("from aragog import", "from celery_pinlater import")
        path.write_text(CODE.sub("celery_pinlater", text), encoding="utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
