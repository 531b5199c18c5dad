"""
A site's statements about the permitted uses of its pages, and the decisions that follow from them.

The purposes are `search`, `ai-input` (a model uses the page for an answer) and `ai-train`. A
statement allows (y) or refuses (n) one of them, and has a source. Other statements, such as a
license or `noarchive`, have no effect. If statements conflict, the strictest one wins: a single n
is enough (draft-ietf-aipref-vocab, section 7.1).

docs/standing.md lists all sources and their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from aragog.pages.structured_fields import FieldToken, dictionary_members
from richpins.robots_meta import PageRobots
from urlspelling.link_header import targets as link_targets

SEARCH, AI_INPUT, AI_TRAIN = "search", "ai-input", "ai-train"
PURPOSES = (SEARCH, AI_INPUT, AI_TRAIN)
MODEL_PURPOSES = (AI_INPUT, AI_TRAIN)
"""The purposes that use models. A site's tdmrep.json is only about these."""
AIPREF, SIGNALS = "draft-ietf-aipref-attach", "content-signals"
DRAFTS = (AIPREF, SIGNALS)
"""Syntaxes that are still drafts. They are read only if `preferences.drafts` contains them."""
MAX_STATEMENTS = 40
_MAX_CHARS = 200
_LABELS = {"train-ai": AI_TRAIN, "search": SEARCH}
_VALUES = {"yes": "y", "no": "n"}
_RSL = "application/rsl+xml"
_NAME = re.compile(r"[a-z][a-z0-9-]*")

Headers = Iterable[tuple[str, str]]


class UseStatement(NamedTuple):
    """One statement of a site."""

    purpose: str
    """One of `PURPOSES`, or another subject: use, license, tdm-policy or robots."""
    value: str
    """y or n for a purpose. For other subjects, the value as written."""
    where: str
    """The source, such as `robots.txt line 4, Content-Usage: train-ai=n`."""

    def __str__(self) -> str:
        return f"{self.purpose}={self.value} ({self.where})"


TDM_FILE_READ = UseStatement("tdmrep", "read", "/.well-known/tdmrep.json")
"""States that a site's tdmrep.json was requested. The rules in it are separate statements."""
ROBOTS_UNREAD = UseStatement("robots.txt", "unread", "the page comes from an archive")
"""States that the robots.txt of the page's site was not requested."""


def content_usage(text: str, where: str) -> list[UseStatement]:
    """
    Return the statements in a Content-Usage value, or none if it is not a valid dictionary.

    If a label is repeated, its last value counts (RFC 9651). An earlier refusal (n) counts, too.
    """
    try:
        members = dictionary_members(text)
    except ValueError:
        return []
    last_members = dict(members)
    return [
        UseStatement(_LABELS[label], str(member.value), where)
        for label, member in members
        if label in _LABELS
        and isinstance(member.value, FieldToken)
        and (member.value == "n" or (member.value == "y" and member is last_members[label]))
    ]


def content_signal(text: str, where: str) -> list[UseStatement]:
    """Return the statements in a Content-Signal value: `search=yes, ai-train=no, use=reference`."""
    statements = []
    for part in text.lower().split(","):
        name, _, value = (side.strip() for side in part.partition("="))
        if name in PURPOSES and value in _VALUES:
            statements.append(UseStatement(name, _VALUES[value], where))
        elif name == "use" and _NAME.fullmatch(value):
            statements.append(UseStatement("use", value, where))
    return statements


def header_statements(headers: Headers, drafts: Collection[str]) -> list[UseStatement]:
    """Return the statements in response headers, except X-Robots-Tag."""
    lists: dict[str, list[str]] = {}
    for name, value in headers:
        lists.setdefault(name.lower(), []).append(value)
    statements: list[UseStatement] = []
    if AIPREF in drafts:
        # Parse each line separately, so that an invalid line does not hide the others.
        for value in lists.get("content-usage", ()):
            statements += content_usage(value, _describe_source("header Content-Usage", value))
    if SIGNALS in drafts:
        for value in lists.get("content-signal", ()):
            statements += content_signal(value, _describe_source("header Content-Signal", value))
    # A proxy may join lines with commas (RFC 9110, section 5.3).
    joined = ",".join(lists.get("tdm-reservation", ()))
    reservations = [value.strip() for value in joined.split(",")]
    policies = [value.strip() for value in lists.get("tdm-policy", ())]
    statements += _tdm_statements(reservations, policies, "header")
    return statements + _header_licenses(lists.get("link", ()))


def meta_statements(metas: Iterable[tuple[str, str]]) -> list[UseStatement]:
    """Return the TDMRep statements of meta elements, passed as (name, content)."""
    pairs = [(name.strip().lower(), content) for name, content in metas]
    reservations = [content.strip() for name, content in pairs if name == "tdm-reservation"]
    policies = [content.strip() for name, content in pairs if name == "tdm-policy"]
    return _tdm_statements(reservations, policies, "meta")


def tdm_rule_statements(reservation: str, policy: str, where: str) -> list[UseStatement]:
    """
    Return the TDMRep statements of a rule in a site's file.

    The policy counts only if the reservation is 1.
    """
    return _tdm_statements([reservation], [policy] if reservation == "1" else [], where)


def license_link_statements(links: Iterable[tuple[str, str, str]]) -> list[UseStatement]:
    """Return the RSL licenses of link elements, passed as (rel, type, href)."""
    return [
        UseStatement("license", _shorten(href.strip()), f"link rel=license type={_RSL}")
        for rel, media, href in links
        if "license" in rel.lower().split() and media.strip().lower() == _RSL and href.strip()
    ]


def robots_statements(robots: PageRobots, where: str) -> list[UseStatement]:
    """Return the statements of a page's robots directives. `where` names the source."""
    refusals: list[tuple[str, str]] = []
    if robots.noindex:
        refusals.append((SEARCH, "noindex"))
    if robots.nosnippet:
        refusals.append((AI_INPUT, "nosnippet"))
    if robots.max_snippet == 0:
        refusals.append((AI_INPUT, "max-snippet:0"))
    if robots.noai:
        refusals += [(AI_INPUT, "noai"), (AI_TRAIN, "noai")]
    statements = [UseStatement(purpose, "n", f"{where}: {name}") for purpose, name in refusals]
    return statements + [
        UseStatement("robots", other, where) for other in _other_directives(robots)
    ]


def _other_directives(robots: PageRobots) -> list[str]:
    flags = ("nofollow", "noarchive", "noimageindex", "noimageai", "notranslate")
    names = [name for name in flags if getattr(robots, name)]
    for name in ("max_snippet", "max_image_preview", "max_video_preview"):
        value = getattr(robots, name)
        if value is not None:
            names.append(f"{name.replace('_', '-')}:{value}")
    if robots.unavailable_after:
        names.append(f"unavailable_after: {_shorten(robots.unavailable_after)}")
    return names


def _tdm_statements(
    reservations: Sequence[str], policies: Sequence[str], kind: str
) -> list[UseStatement]:
    """
    Return the statements of TDMRep values. A reservation of 1 means that models may use the page
    neither as input nor for training.
    """
    statements = []
    for value in reservations:
        if value in ("0", "1"):
            answer, where = "n" if value == "1" else "y", f"{kind} tdm-reservation: {value}"
            statements += [UseStatement(purpose, answer, where) for purpose in (AI_INPUT, AI_TRAIN)]
    where = f"{kind} tdm-policy"
    return statements + [
        UseStatement("tdm-policy", _shorten(url), where) for url in policies if url
    ]


def _header_licenses(values: Iterable[str]) -> list[UseStatement]:
    statements = []
    for target, parameters in link_targets(values):
        by_name = {name: value.strip().lower() for name, value in reversed(parameters)}
        if "license" in by_name.get("rel", "").split() and by_name.get("type") == _RSL:
            where = f"header Link: rel=license type={_RSL}"
            statements.append(UseStatement("license", _shorten(target.strip()), where))
        if len(statements) >= MAX_STATEMENTS:
            break
    return [statement for statement in statements if statement.value]


def refused_purpose(
    statements: Iterable[UseStatement], purposes: Collection[str]
) -> UseStatement | None:
    """Return the first statement that refuses one of the purposes, or None."""
    return next((s for s in statements if s.value == "n" and s.purpose in purposes), None)


def pack_statements(statements: Iterable[UseStatement]) -> str:
    """
    Return the statements as text, one per line.

    Keeps the first statement for each purpose and value, and at most `MAX_STATEMENTS`. Statements
    without an effect are dropped first.
    """
    by_purpose_and_value = {(s.purpose, s.value): s for s in reversed(list(statements))}
    lines = sorted(by_purpose_and_value.values(), key=_rank)
    return "\n".join(str(s).replace("\n", " ") for s in lines[:MAX_STATEMENTS])


def refusing_line(texts: Iterable[object], purposes: Iterable[str]) -> str | None:
    """Return the line in the packed statements that refuses one of the purposes, or None."""
    texts = list(texts)
    verdicts = (verdict(texts, purpose) for purpose in purposes)
    return next((line for allowed, line in verdicts if allowed is False), None)


def merge_statements(before: str | None, later: str) -> str:
    """
    Merge packed statements. The result allows nothing that either text refuses.

    For the same purpose and value, keeps the line in `later`.
    """
    lines = [*later.split("\n"), *(before or "").split("\n")]
    line_by_statement = {line.partition(" ")[0]: line for line in reversed(lines) if line}
    ordered = sorted(line_by_statement, key=_sort_key)
    return "\n".join(line_by_statement[statement] for statement in ordered[:MAX_STATEMENTS])


def _sort_key(statement: str) -> tuple[bool, bool, str]:
    """Return the sort key. Refusals come first, and statements without an effect last."""
    name, _, value = statement.partition("=")
    return value != "n", name in ("license", "robots", "tdm-policy", "use"), name


def verdict(texts: Iterable[object], purpose: str) -> tuple[bool | None, str]:
    """
    Return what packed statements decide about a purpose, and the line that states it.

    The decision is None, with an empty line, if no statement covers the purpose.

    Args:
        texts: facts with packed statements. Values that are not strings are ignored.
        purpose: one of `PURPOSES`.
    """
    lines = _split_lines(texts)
    for allowed, value in ((False, "n"), (True, "y")):
        for line in lines:
            if line.startswith(f"{purpose}={value} "):
                return allowed, line
    return None, ""


def refusal(texts: Iterable[object], purpose: str) -> str | None:
    """
    Return why packed statements do not allow a purpose, or None if they do.

    The reason is the refusing line, or that one of the site's files was not read. If all files were
    read, a purpose without a statement is allowed.

    Args:
        texts: as for `verdict`.
        purpose: one of `PURPOSES`.
    """
    texts = list(texts)
    allowed, line = verdict(texts, purpose)
    if allowed is False:
        return line
    if _contains_note(texts, ROBOTS_UNREAD):
        return "the site's robots.txt was not read"
    if purpose in MODEL_PURPOSES and not _contains_note(texts, TDM_FILE_READ):
        return f"the site's {TDM_FILE_READ.where} was not read"
    return None


def _contains_note(texts: Iterable[object], note: UseStatement) -> bool:
    start = f"{note.purpose}={note.value} "
    return any(line.startswith(start) for line in _split_lines(texts))


def _split_lines(texts: Iterable[object]) -> list[str]:
    return [line for text in texts if isinstance(text, str) for line in text.split("\n")]


def _rank(statement: UseStatement) -> tuple[bool, bool, str]:
    return statement.value != "n", statement.purpose not in _PURPOSES_WITH_EFFECT, statement.purpose


_PURPOSES_WITH_EFFECT = (*PURPOSES, TDM_FILE_READ.purpose, ROBOTS_UNREAD.purpose)


def _describe_source(source: str, value: str) -> str:
    return f"{source}: {_shorten(value)}"


def _shorten(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
