"""
The parts of a recipe as a page shows them: lists under headings that say what they are, or inside
elements whose class names do, in some 25 languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from aragog.pages.document import squeeze
from aragog.pages.richpins.sources import Sources
from aragog.pages.richpins.text import lines_of

_INGREDIENTS = (
    "ingredients? ingr[eé]dients? ingredientes ingredienti ingredi[eë]nten zutaten składniki "
    "ingredienser hozzávalók ingredience suroviny malzemeler υλικά συστατικά ингредиенты состав "
    "продукты інгредієнти sastojci sestavine ainekset 材料 재료 食材 koostisosad ingrediente "
    "nguyên\\s+liệu bahan вам\\s+понадобится ingredienslista benodigdheden"
).split()
_STEPS = (
    "directions? instructions? method preparation preparations? steps? procedure "
    "how\\s+to\\s+make.* how\\s+to\\s+cook.* here.s\\s+how.* préparation étapes? "
    "zubereitung anleitung "
    "preparación elaboración modo\\s+de\\s+prepar\\w+ preparazione procedimento bereiding "
    "bereidingswijze werkwijze przygotowanie sposób\\s+przygotowania wykonanie "
    "gör\\s+så\\s+här tillagning instruktioner fremgangsmåte fremgangsmåde sådan\\s+gør\\s+du "
    "εκτέλεση εκτελεση приготовление способ\\s+приготовления приготування elkészítés "
    "elkészítése postup příprava přípravy hazırlanışı yapılışı 作り方 만드는\\s*법 做法 priprema "
    "postopek valmistus valmistusohje preparo tilberedning mod\\s+de\\s+preparare recette "
    "réalisation cooking\\s+instructions preparation\\s+method aan\\s+de\\s+slag "
    "zo\\s+maak\\s+je\\s+het"
).split()
_LEAD = r"(?:the\s+|for\s+the\s+|les\s+|die\s+|los\s+|gli\s+|de\s+|recipe\s+)?"
_TAIL = (
    r"(?:\s*\([^)]{0,40}\))?"
    r"(?:\s+(?:for|für|pour|para|voor|per|list|needed|you.ll need)\b.{0,40})?"
)
_IS_INGREDIENTS = re.compile(
    rf"{_LEAD}(?:{'|'.join(_INGREDIENTS)}){_TAIL}\s*[:：]?\s*", re.IGNORECASE
)
_IS_STEPS = re.compile(rf"{_LEAD}(?:{'|'.join(_STEPS)}){_TAIL}\s*[:：]?\s*", re.IGNORECASE)
_ENDS = re.compile(
    r"(?:notes?|tips?|tipps?|nutrition.*|equipment|video|comments?|reviews?|related.*|"
    r"you may also.*|share.*|nährwert.*|valeurs.*|storage|faq.*|did you make.*|more recipes|"
    r"about.*|print.*|newsletter|subscribe.*|leave a.*|similar.*|rate this.*|"
    r"serving suggestions?)\s*:?",
    re.IGNORECASE,
)
# bytes.lower() changes ASCII letters only, so words of other scripts stand in both cases they take.
_MENTIONED = {
    "de": "zutat", "nl": "benodigd", "cs": "surovin", "sk": "surovin", "tr": "malzeme",
    "hr": "sastojc", "sr": "sastojc", "bs": "sastojc", "fi": "ainekse", "fr": "ingré",
    "pl": "składnik", "hu": "hozzávaló", "el": "υλικά Υλικά συστατικ Συστατικ",
    "ru": "ингредиент Ингредиент", "uk": "інгредієнт Інгредієнт", "ja": "材料", "zh": "材料 食材",
    "ko": "재료",
}  # fmt: skip
"""What a page in a language says of ingredients where it does not say `ingre…`."""

_HEADINGS = "h1,h2,h3,h4,h5,h6,strong,b,dt,legend,summary,button,p,div,span,th,u,label,em"
_LISTED = frozenset({"ul", "ol", "table", "dl"})
_NOT_CONTENT = frozenset(
    {"script", "style", "nav", "footer", "form", "aside", "header", "noscript"}
)
_MAX_HEADING_CHARS = 60
_MAX_HEADINGS = 4_000
_MAX_CLIMB = 5
_MAX_DEPTH = 24
_MAX_SECTIONS = 20
"""Of one kind that are looked into."""
_MAX_SIBLINGS = 60
_MAX_ENTRIES = 120
_BULLET = re.compile(r"^\s*(?:[•·▢☐*\-–—✓✔◦▪■□●○]+)\s*")
_NUMBERING = re.compile(r"^\s*(?:step\s*)?\d{1,2}\s*[.):\]]\s*(?=\D)", re.IGNORECASE)


@dataclass(slots=True)
class Section:
    """Entries under one heading of a recipe."""

    kind: str
    heading: str
    groups: list[tuple[str | None, list[str]]]
    left: int = 400
    """How many more elements may be looked at."""

    @property
    def count(self) -> int:
        return sum(len(entries) for _, entries in self.groups)


def is_mentioned(body: bytes, language: str | None) -> bool:
    """True when a page has a word for ingredients at all, in its language if that is known."""
    # One by one in a lowered copy each word takes 15 µs for 57 KB; as a pattern they took 3 ms.
    lowered = body.lower()
    words = _MENTIONED.get((language or "").lower()[:2])
    if words is None and language is None:
        words = " ".join(_MENTIONED.values())
    return b"ingre" in lowered or any(word.encode() in lowered for word in (words or "").split())


def best_sections(sources: Sources) -> dict[str, Section]:
    """The section with the most entries for each part of a recipe, under a heading if any is."""
    best: dict[str, Section] = {}
    if not is_mentioned(sources.document.body, sources.document.language):
        return best
    for section in _by_headings(sources):
        known = best.get(section.kind)
        if section.kind == "ingredients" and section.count < 2:
            continue
        if known is None or _score(section) > _score(known):
            best[section.kind] = section
    for kind, name in (("ingredients", "ingredient"), ("steps", "")):
        called = _by_class(sources, kind, name) if kind not in best else None
        if called is not None:
            best[kind] = called
    return best


def _score(section: Section) -> int:
    return min(section.count, 6) if section.kind == "ingredients" else min(section.count, 3)


def _by_headings(sources: Sources) -> Iterator[Section]:
    heads = list(_heads(sources))
    places = {node.mem_id: kind for node, kind, _ in heads}
    looked_into = Counter[str]()
    for node, kind, text in heads:
        looked_into[kind] += 1
        if kind in {"ingredients", "steps"} and looked_into[kind] <= _MAX_SECTIONS:
            section = Section(kind, text, [])
            _collect_after(node, section, places)
            if section.count:
                yield section


def _heads(sources: Sources) -> Iterator[tuple[LexborNode, str, str]]:
    """Elements whose own text is one of the known headings, in the order of the page."""
    for count, node in enumerate(sources.document.tree.css(_HEADINGS)):
        if count > _MAX_HEADINGS:
            return
        tag = node.tag or ""
        text = node.text(deep=tag[:1] == "h" and len(tag) == 2)
        if not text or len(text) > 4 * _MAX_HEADING_CHARS:
            continue
        text = squeeze(text)
        if not 2 <= len(text) <= _MAX_HEADING_CHARS:
            continue
        if _IS_INGREDIENTS.fullmatch(text):
            yield node, "ingredients", text
        elif _IS_STEPS.fullmatch(text):
            yield node, "steps", text
        elif tag in {"h2", "h3", "h4", "h5"} and _ENDS.fullmatch(text):
            yield node, "end", text


def _collect_after(head: LexborNode, section: Section, places: dict[int, str]) -> None:
    """What follows a heading, beside it or beside its parents, until another heading."""
    at: LexborNode | None = head
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"body", "html"}:
            return
        sibling = at.next
        for _ in range(_MAX_SIBLINGS):
            if sibling is None:
                break
            if not _take(sibling, section, places):
                return
            sibling = sibling.next
        if section.count:
            return
        at = at.parent


def _take(node: LexborNode, section: Section, places: dict[int, str], depth: int = 0) -> bool:
    """Add what a node holds; False when another part of the page begins with it."""
    tag = node.tag or ""
    section.left -= 1
    if section.left < 0 or depth > _MAX_DEPTH:
        return False
    if tag == "-text":
        text = squeeze(node.text() or "")
        if len(text) > (3 if section.count else 20 if section.kind == "steps" else 10_000):
            _add(section, [text])
        return True
    if tag.startswith("-") or tag in _NOT_CONTENT:
        return True
    if node.mem_id in places or any(inner.mem_id in places for inner in node.css(_HEADINGS)[:300]):
        return _take_until_head(node, section, places, depth)
    if section.count >= _MAX_ENTRIES:
        return False
    if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
        return _take_heading(node, section)
    lists = [node] if tag in _LISTED else node.css("h2,h3,h4,h5,h6,ul,ol,table")
    if any(each.tag in _LISTED for each in lists):
        for each in lists[:40]:
            if each.tag not in _LISTED:
                _take_heading(each, section)
            elif not _has_list_above(each, node):
                _add(section, _entries(each, section.kind))
    elif tag in {
        "p",
        "div",
        "section",
        "span",
        "pre",
        "article",
        "dd",
        "blockquote",
        "label",
        "li",
    }:
        _add(section, _paragraphs(node, section))
    return True


def _has_list_above(node: LexborNode, top: LexborNode) -> bool:
    parent = node.parent
    while parent is not None and parent.mem_id != top.mem_id:
        if parent.tag in _LISTED:
            return True
        parent = parent.parent
    return parent is not None and node.mem_id != top.mem_id and top.tag in _LISTED


def _take_until_head(
    node: LexborNode, section: Section, places: dict[int, str], depth: int
) -> bool:
    """A block in which the next part begins: what stands before it belongs to this one."""
    if node.mem_id in places:
        same = places[node.mem_id] == section.kind
        return same and not section.count
    child = node.first_child
    for _ in range(_MAX_SIBLINGS):
        if child is None:
            break
        if not _take(child, section, places, depth + 1):
            return False
        child = child.next
    return False


def _take_heading(node: LexborNode, section: Section) -> bool:
    text = squeeze(node.text())
    if not text:
        return True
    if len(text) <= _MAX_HEADING_CHARS and not _ENDS.fullmatch(text):
        section.groups.append((text.rstrip(":"), []))
        return not (section.count and (node.tag or "") in {"h1", "h2"})
    return not section.count


def _entries(node: LexborNode, kind: str) -> list[str]:
    if node.tag == "table":
        rows = (squeeze(row.text(separator=" ")) for row in node.css("tr"))
        return [row for row in rows if row]
    found: list[str] = []
    for item in node.css("li,dd")[: 2 * _MAX_ENTRIES]:
        if len(item.css("li")) > 1:  # a query finds the element itself too
            continue
        if kind == "steps":
            found.extend(lines_of(item))
        else:
            text = squeeze(item.text(separator=" "))
            found.append(re.sub(r"\s+([,.;)])", r"\1", text))
    return found


def _paragraphs(node: LexborNode, section: Section) -> list[str]:
    found = lines_of(node)
    if section.kind == "ingredients":
        if sum(map(len, found)) > 80 * max(len(found), 1):
            return []
        return found
    return [line for line in found if len(line) > 2]


def _add(section: Section, entries: list[str]) -> None:
    cleaned = []
    for entry in entries:
        text = _BULLET.sub("", entry).strip()
        if section.kind == "steps":
            text = _NUMBERING.sub("", text)
        if text and len(text) > 1 and not text.isdigit():
            cleaned.append(text)
    if not cleaned:
        return
    if not section.groups:
        section.groups.append((None, []))
    section.groups[-1][1].extend(cleaned[:_MAX_ENTRIES])


_CLASS_QUERIES = {
    "ingredients": (
        '[class*="ingredient" i],[id*="ingredient" i],[class*="zutat" i],[class*="ingredienser" i]'
    ),
    "steps": (
        '[class*="instruction" i],[class*="direction" i],[class*="preparation" i],'
        '[class*="method" i],[id*="instruction" i],[id*="direction" i],[id*="method" i],'
        '[class*="zubereitung" i],[class*="recipe-step" i],[class*="steps" i]'
    ),
}


def _by_class(sources: Sources, kind: str, name: str) -> Section | None:
    """The element with the most list entries among those named after this part of a recipe."""
    best: Section | None = None
    loose: list[str] = []
    for node in sources.document.tree.css(_CLASS_QUERIES[kind])[:200]:
        if node.tag in _NOT_CONTENT or node.tag in {"html", "body", "a", "input"}:
            continue
        lists = [node] if node.tag in {"ul", "ol"} else node.css("ul,ol")[:10]
        section = Section(kind, node.tag or "", [])
        for each in lists:
            _add(section, _entries(each, kind))
        if best is None or section.count > best.count:
            best = section
        if not lists and name and len(node.css('[class*="ingredient" i]')) > 1:
            continue
        text = squeeze(node.text(separator=" "))
        if not lists and 2 < len(text) < (200 if kind == "ingredients" else 2_000):
            loose.append(text)
    if best is not None and best.count >= (2 if kind == "ingredients" else 1):
        return best
    if len(loose) >= (3 if kind == "ingredients" else 1):
        section = Section(kind, "class", [])
        _add(section, list(dict.fromkeys(loose)))
        return section
    return None
