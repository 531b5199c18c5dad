"""
Decide whether ingredients or steps in the visible text are certain enough to return.

A wrong list is worse than none. Each rule rejects a kind of list that agreed with the page's markup
on fewer than 60% of pages. ADR 77 has the figures.
"""

from __future__ import annotations

from collections.abc import Iterable

from richpins.visible_text.section import Section
from richpins.visible_text.vocabulary import has_sentence, is_step

_MIN_AMOUNT_SHARE = 0.5
_MAX_MEAN_INGREDIENT_CHARS = 60
_MAX_SENTENCE_SHARE = 0.5
_MIN_SENTENCE_SHARE = 0.3
_MAX_FRAGMENT_SHARE = 0.5
_MIN_MEAN_STEP_CHARS = 40
_SENTENCE_ENDS = tuple(".!。！♪")


def doubt_about(section: Section) -> str | None:
    """Return why a section's entries are probably wrong; None if they seem right."""
    entries = section.entries
    if not entries:
        return "doubtful: no entry of its own"
    if any(map(_is_question, entries)):
        return "doubtful: entries are questions"
    if section.kind == "ingredients":
        return _doubt_about_ingredients(entries)
    return None if section.is_plain_list else _doubt_about_steps(entries)


def _is_question(entry: str) -> bool:
    """Return True for a question, but not for a step that ends with one."""
    return entry.endswith(("?", "？")) and not has_sentence(entry)


def _doubt_about_ingredients(entries: list[str]) -> str | None:
    if _share(any(map(str.isnumeric, entry)) for entry in entries) < _MIN_AMOUNT_SHARE:
        return "doubtful: most entries have no amount"
    if sum(map(len, entries)) > _MAX_MEAN_INGREDIENT_CHARS * len(entries):
        return "doubtful: too long for ingredients"
    if _share(entry.endswith(_SENTENCE_ENDS) for entry in entries) > _MAX_SENTENCE_SHARE:
        return "doubtful: entries are sentences"
    return None


def _doubt_about_steps(entries: list[str]) -> str | None:
    punctuated_share = _share(entry.endswith(_SENTENCE_ENDS) for entry in entries)
    sentence_share = _share(
        entry.endswith(_SENTENCE_ENDS) or has_sentence(entry) for entry in entries
    )
    if sentence_share < _MIN_SENTENCE_SHARE:
        return "doubtful: most entries are not sentences"
    if _share(not is_step(entry) for entry in entries) > _MAX_FRAGMENT_SHARE:
        return "doubtful: most entries are too short for steps"
    are_short = any(map(str.isascii, entries)) and (
        sum(map(len, entries)) < _MIN_MEAN_STEP_CHARS * len(entries)
    )
    return "doubtful: captions among the steps" if are_short and punctuated_share < 1 else None


def _share(conditions: Iterable[bool]) -> float:
    results = list(conditions)
    return sum(results) / len(results)
