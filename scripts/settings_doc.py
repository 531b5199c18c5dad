"""Write docs/settings.md from aragog/settings/: `python scripts/settings_doc.py`."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "settings.md"
HEAD = """# Settings

All settings of aragog with their defaults. This page is generated from `aragog/settings/` by
`python scripts/settings_doc.py`.

## How to set them

aragog reads a TOML file: the one in `ARAGOG_SETTINGS`, or else `aragog.toml` in the current folder.
Environment variables override the file. For example, you can set `fetch.user_agent`

- in the file, as `user_agent` in the section `[fetch]`,
- in the environment, as `ARAGOG_FETCH__USER_AGENT`.

In a variable, separate the entries of a list with commas, and write a table as `name=value` pairs.
Line breaks at its end are ignored.

If a setting is unknown or invalid, nothing starts. aragog reports all unknown names and wrong types
together, and then all invalid values.

While a system runs in the data folder, its settings also apply to commands, to `Aragog()` and
`open_client()` in Python, and to workers, Flower and servers that you start yourself. If you give
them other settings, they print which ones differ. From their own settings, they use
only `logs`, `serving` and `workers`. Settings that you pass in Python (`Aragog(settings)`) are used
as they are.
"""


def page() -> str:
    """Return the whole page."""
    folder = ROOT / "aragog" / "settings"
    sources = sorted(folder.glob("*.py"))
    trees = [ast.parse(source.read_text()) for source in sources]
    classes = {c.name: c for tree in trees for c in tree.body if isinstance(c, ast.ClassDef)}
    top = [row for row in _fields(classes["Settings"]) if not row[1].endswith("Settings")]
    parts = [HEAD, "## Top level\n", _table(top)]
    for name, kind, _, _ in _fields(classes["Settings"]):
        if kind.endswith("Settings"):
            section = classes[kind]
            text = _with_links(ast.get_docstring(section))
            parts += [f"## [{name}]\n", f"{text}\n", _table(_fields(section))]
            parts += _nested_tables(name, section, classes)
    return "\n".join(parts)


def _nested_tables(name: str, section: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[str]:
    """Return the nested tables of a section: `[egress.ways.NAME]`, `[[egress.rules]]`."""
    parts = []
    for key, annotation, _, _ in _fields(section):
        for inner in re.findall(r"\w+", annotation):
            if inner in classes:
                is_table = annotation.startswith("Mapping")
                title = f"[{name}.{key}.NAME]" if is_table else f"[[{name}.{key}]]"
                text = _with_links(ast.get_docstring(classes[inner]))
                parts += [f"### {title}\n", f"{text}\n", _table(_fields(classes[inner]))]
    return parts


def _fields(section: ast.ClassDef) -> list[tuple[str, str, str, str]]:
    """Return (name, type, default, meaning) of each field."""
    rows = []
    for index, node in enumerate(section.body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        default = ast.unparse(node.value) if node.value else ""
        if default.startswith("field("):
            default = "{}"
        following = section.body[index + 1] if index + 1 < len(section.body) else None
        meaning = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            meaning = str(following.value.value)
        rows.append((node.target.id, ast.unparse(node.annotation), default, meaning))
    return rows


def _table(rows: list[tuple[str, str, str, str]]) -> str:
    lines = ["| setting | default | meaning |", "| --- | --- | --- |"]
    for name, _, default, meaning in rows:
        text = _with_links(" ".join(meaning.split()).replace("|", "\\|"))
        lines.append(f"| `{name}` | {_display(default)} | {text} |")
    return "\n".join(lines) + "\n"


def _with_links(text: str | None) -> str:
    """Turn page names in a docstring, which are relative to the root of the sources, into links."""
    return re.sub(r"docs/([\w-]+\.md)(#[\w-]+)?", r"[\1](\1\2)", text or "")


def _display(default: str) -> str:
    """Return a default as an operator would write it in the file, with strings unquoted."""
    text = default.removeprefix("Path('").removesuffix("')") if "Path" in default else default
    if text in ("", "''", "()", "{}", "None", "NO_URL"):
        return "empty"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return f"`{text}`"
    if isinstance(value, bool | tuple):
        return f"`{json.dumps(value)}`"
    return f"`{text.strip(chr(39))}`"


if __name__ == "__main__":
    TARGET.write_text(page())
    sys.stdout.write(f"{TARGET.relative_to(ROOT)} written\n")
