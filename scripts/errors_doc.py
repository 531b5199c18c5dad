"""Write the tables of errors in docs/ from `error_table.py`: `python scripts/errors_doc.py`."""

from __future__ import annotations

from pathlib import Path

from aragog.api.error_table import http_table, thrift_table

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- errors: made by scripts/errors_doc.py -->", "<!-- end of errors -->"
TABLES = {"http.md": http_table, "thrift.md": thrift_table}


def page(name: str) -> str:
    """Return a page of docs/ with its table."""
    before, begin, rest = (ROOT / "docs" / name).read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{TABLES[name]()}\n{end}{after}"


if __name__ == "__main__":
    for name in TABLES:
        (ROOT / "docs" / name).write_text(page(name))
