"""
Score the lists of recipes line by line: ingredients and steps of annotated pages without markup.

    python -m bench.page_lists FOLDER             totals by field, for both halves
    python -m bench.page_lists FOLDER --errors    also the lists that differ in the half `read`

FOLDER is made by `bench.page_annotations`. `bench.extraction` accepts a list if 90% of its words
are right; here no line may be missing, added, split, joined with another or out of place. The
expected list is that of the project's tests, or that of the page's own markup. The markup often
splits a text differently; lines that only name the following group are not compared, and a text
that its source does not split is compared as a whole.

`exact` is the share of the returned lists whose lines have the same letters and digits. `same
lines` is the share in which each line shares at least MIN_ALIKE of its words with its
counterpart, because markup and page often spell it differently: `1/2 tsp salt` and `½ teaspoon
salt, divided`. For the half called `score` only totals are printed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.extraction import AnnotatedPage, load, own_values
from bench.page_annotations import SourcePage, marked_values
from bench.quick import add_quick

LISTS = ("ingredients", "instructions")
GROUP = "recipe, text"
MIN_ALIKE = 0.6
"""Two lines are the same if at least this share of their words agrees (Dice coefficient)."""
Scores = dict[tuple[str, str], Counter[str]]
"""Counts of expected, returned, exact and same-line lists, by half and field."""

_NUMBER = re.compile(r"\A\W{0,3}(?:step\s)?\d{1,2}\s?[.):]\s*(?=\D)", re.IGNORECASE)
_GROUP = re.compile(r"[^.!?]{1,80}:|for\s[^.!?,\d]{2,60}|to\s[^.!?,\d]{2,60}", re.IGNORECASE)


def lines_of(texts: Any) -> list[list[str]]:
    """Return the words of each line of a list, without step numbers and group names."""
    given = [texts] if isinstance(texts, str) else texts or []
    parts = (part.strip() for text in given for part in str(text).splitlines())
    named = (_NUMBER.sub("", part) for part in parts if not _GROUP.fullmatch(part))
    return [words for part in named if (words := _words(part))]


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\N{MULTIPLICATION SIGN}", "x")
    return re.findall(r"[^\W_]+", plain)


def is_exact(expected: list[list[str]], found: list[list[str]]) -> bool:
    """Return True if all lines have the same letters and digits."""
    return _joined(expected) == _joined(found) or (
        len(expected) == 1 and "".join(_joined(expected)) == "".join(_joined(found))
    )


def _joined(lines: list[list[str]]) -> list[str]:
    return ["".join(words) for words in lines]


def has_same_lines(expected: list[list[str]], found: list[list[str]]) -> bool:
    """
    Return True if each line shares most of its words with its counterpart.

    A text that its source does not split is compared as a whole.
    """
    if len(expected) == 1 < len(found):
        return is_exact(expected, found)
    return len(expected) == len(found) and all(map(_are_alike, expected, found))


def _are_alike(first: list[str], other: list[str]) -> bool:
    common = (Counter(first) & Counter(other)).total()
    return 2 * common >= MIN_ALIKE * (len(first) + len(other))


def references(page: AnnotatedPage, field: str, marked: dict[str, Any]) -> list[list[list[str]]]:
    """Return the acceptable lists: those of each source, with and without names of step groups."""
    stated = [texts for texts in (page.expected[field], marked.get(field)) if texts]
    if field == "instructions":
        stated += [_sentences(texts) for texts in stated if isinstance(texts, list)]
    return [lines for texts in stated if (lines := lines_of(texts))]


def _sentences(steps: list[str]) -> list[str]:
    """Return steps without short lines that lack final punctuation, if most others have it."""
    ended = [step for step in steps if step.rstrip()[-1:] in ".!)"]
    short = [s for s in steps if s not in ended and len(s.split()) <= _MAX_NAME_WORDS]
    return [s for s in steps if s not in short] if len(ended) > len(steps) / 2 else steps


_MAX_NAME_WORDS = 6


def marked_lists(page: AnnotatedPage) -> dict[str, Any]:
    """Return the markup's lists from the other copy of a page; empty without that copy."""
    other = page.path.with_name(page.path.name.replace("-1.html", "-0.html"))
    if other == page.path or not other.exists():
        return {}
    return marked_values(SourcePage(other.read_bytes(), page.url, "recipe", {}))


def score(pages: Iterable[AnnotatedPage], *, errors: bool) -> Scores:
    """Return the scores of all lists. With `errors`, print the wrong ones of the `read` half."""
    scores: Scores = defaultdict(Counter)
    for page in pages:
        fields = [f for f in LISTS if page.group == GROUP and page.expected.get(f)]
        values, marked = (own_values(page), marked_lists(page)) if fields else ({}, {})
        for field in fields:
            found, right = lines_of(values.get(field)), references(page, field, marked)
            is_same = any(has_same_lines(lines, found) for lines in right)
            scores[page.half, field].update(
                lists=1,
                given=bool(found),
                exact=any(is_exact(lines, found) for lines in right),
                same=is_same,
            )
            if errors and page.half == "read" and found and not is_same:
                _print_difference(page, field, right, found)
    return scores


def _print_difference(
    page: AnnotatedPage, field: str, right: list[list[list[str]]], found: list[list[str]]
) -> None:
    nearest = max(right, key=lambda lines: sum(line in lines for line in found))
    print(f"{field} {page.path.name} {page.url} expected {len(nearest)} found {len(found)}")
    for sign, lines, others in (("-", nearest, found), ("+", found, nearest)):
        for line in lines:
            if not any(_are_alike(line, other) for other in others):
                print(f"  {sign} {' '.join(line)[:120]}")


def table_of(scores: Scores) -> Table:
    """Return shares in percent by half and field."""
    table = Table("half", "field", "lists", "given", "exact", "same lines")
    for (half, field), counts in sorted(scores.items()):
        table.add_row(
            half, field, str(counts["lists"]), _share(counts["given"], counts["lists"]),
            _share(counts["exact"], counts["given"]), _share(counts["same"], counts["given"]),
        )  # fmt: skip
    return table


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def one_page(folder: Path) -> Path:
    """Fill the folder with one annotated recipe, and return it."""
    (folder / "page.html").write_text(
        "<h1>Soup</h1><h2>Ingredients</h2><ul><li>2 cups milk</li><li>1 tsp salt</li></ul>"
        "<h2>Method</h2><ol><li>Boil the milk.</li><li>Add the salt.</li></ol>"
    )
    (folder / "pages.jsonl").write_text(
        '{"file": "page.html", "url": "http://a.example/", "group": "recipe, text", "expected":'
        ' {"ingredients": ["2 cups milk", "1 tsp salt"]}}'
    )
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Score the lists of recipes line by line.")
    parser.add_argument("folder", nargs="?", type=Path, help="with pages.jsonl and the pages")
    parser.add_argument("--errors", action="store_true", help="print the lists that differ")
    add_quick(parser)
    options = parser.parse_args()
    if options.folder is None and not options.quick:
        parser.error("FOLDER: the annotated pages")
    with tempfile.TemporaryDirectory() as made:
        scores = score(load(options.folder or one_page(Path(made))), errors=options.errors)
    Console(width=100).print(table_of(scores))


if __name__ == "__main__":
    main()
