"""Pages of the project itself: its documents, written like those of a documentation site."""

from __future__ import annotations

import html
import re
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
_HEADING = re.compile(r"<(h[1-4])>(.*?)</\1>", re.DOTALL)


def write(folder: Path, limit: int | None = None) -> list[Path]:
    """Write `docs/*.md` as HTML pages with permalinks, menu and footer. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted((ROOT / "docs").glob("*.md"))
    selected = sources[:: max(1, len(sources) // limit)] if limit else sources
    return [_write_page(source, folder / f"{source.stem}.html") for source in selected]


def _write_page(source: Path, path: Path) -> Path:
    text = source.read_text(encoding="utf-8")
    content = MarkdownIt("commonmark").enable("table").render(text)
    content = _HEADING.sub(_with_permalink, content)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    name = html.escape(title[1] if title else source.stem)
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{name} - aragog</title></head>'
        f'<body><nav><ul><li><a href="./">Start</a></li></ul></nav><main><article>{content}</article></main>'
        f'<footer><a href="../imprint.html">Imprint</a></footer></body></html>',
        encoding="utf-8",
    )
    return path


def _with_permalink(match: re.Match[str]) -> str:
    anchor = re.sub(r"\W+", "-", match[2].lower()).strip("-")
    return (
        f'<{match[1]} id="{anchor}">{match[2]}'
        f'<a class="headerlink" href="#{anchor}" title="Permanent link">&para;</a></{match[1]}>'
    )
