"""
Add the README as index and the generated reference to the mkdocs site.

Links from a page to a file of the source tree become that file's name, because the site has no
source files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
GENERATED = ROOT / "build" / "docs-reference"
ADRS = ROOT / "docs" / "adr"
_OUT = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#]*|[A-Z]+\.md)(?:#[^)]*)?\)")
_README_LINK = re.compile(r"\]\(docs/")
_ADR_FOLDER = re.compile(r"\]\(adr/?\)")


def on_config(config: Any) -> Any:
    """Add the decisions at the end of the navigation."""
    pages = [f"adr/{page.name}" for page in sorted(ADRS.glob("[0-9]*.md"))]
    config["nav"].append({"Decisions": ["adr/README.md", *pages]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    readme = _README_LINK.sub("](", (ROOT / "README.md").read_text())
    files.append(File.generated(config, "index.md", content=readme))
    for page in sorted(GENERATED.glob("*.md")):
        files.append(File.generated(config, f"reference/{page.name}", content=page.read_text()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links to source files with plain names."""
    return _OUT.sub(_plain, _ADR_FOLDER.sub("](adr/README.md)", markdown))


def _plain(link: re.Match[str]) -> str:
    text, target = link.group(1), link.group(2)
    name = target.lstrip("./")
    label = text.strip("`")
    return f"`{label}`" if label == name or "/" in label else f"{text} (`{name}`)"
