"""
Find a recipe's times and servings in its visible text, by captions such as `Prep time`.

Used only for values that are missing from the recipe's markup. Examples are `Prep time: 20 min`,
`Serves 4`, `Zubereitungszeit 1 Std.` and `Pour 6 personnes`. A caption is ignored unless a duration
or number follows closely. Durations may also precede their captions, as in `20 min prep 1 h cook`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from richpins._plain_text import UNSHOWN, text_without
from richpins.document import Document
from richpins.values import durations
from richpins.values.yields import Yield, read_yield

MAX_CHARS = 100_000

_GAP = r"[\s:=\-–|·•]{0,6}"
_SERVES = re.compile(
    r"\b(?:serves|servings?|yields?|makes|portions?|portionen|portioner|porsjoner|porciones|"
    r"raciones|porzioni|porções|rende|personen|personer|personnes|personas|aantal\s*personen|分量|"
    r"porcj[ieę]|porcí|порц\w{1,3}|annosta|份量)\b" + _GAP + r"(?:(?:about|approx\w{0,9}\.?|around|"
    r"roughly|etwa|ca\.?|circa|environ|ongeveer|ungefär|około)\s)?(\d{1,3}(?:\s*(?:-|–|to)\s*\d{1,3})?"
    r"(?:\s+(?!(?:prep|cook|cooking|total|time|ready|calories|course|ingredients|yields?|"
    r"serves|makes|for|per|pro|kcal|kj|nutrition|difficulty|min|mins|"
    r"minutes|minuten|h|hours?|hrs?|std|uur)\b)[^\W\d_]{3,15})?)",
    re.IGNORECASE,
)
_FOR_PEOPLE = re.compile(
    r"\b(?:für|pour|para|per|voor|for)?\s*(\d{1,2}(?:\s*(?:-|–|to)\s*\d{1,2})?)\s*"
    r"(?:servings|portionen|personen|personnes|personas|persone|portions|portioner|porsjoner|"
    r"porciones|raciones|porzioni|porções|people|personer|pers|porce|porcí|porcj\w*|"
    r"osób|osoby|adag|főre|порц\w*|personas|annosta|人份|人分)\b",
    re.IGNORECASE,
)


_INGREDIENTS_FOR = re.compile(
    r"\b(?:ingredients?|ingrédients|zutaten|ingrediënten|ingredientes|ingredienti|ingredienser|"
    r"składniki|suroviny|malzemeler)\s+(?:for|pour|für|voor|per|para|till|til|na)\s+"
    r"(?:(?:about|approx\w{0,9}\.?|environ|etwa|ca\.?|ongeveer|circa|około|cirka)\s+)?"
    r"(\d{1,3}(?:\s*(?:-|–|to)\s*\d{1,3})?\s+[^\W\d_]{3,20})",
    re.IGNORECASE,
)
"""Matches `Ingredients for 10 rolls`, but not `for 10 g`: the word needs at least three letters."""


def text_of(document: Document, *, anywhere: bool) -> str:
    """Return the main part's text on one line, or with `anywhere` the text of the whole body."""
    body = document.tree.body
    if body is None:
        return ""
    main = body.css_first("main") or body.css_first("article")
    if main is None:
        main = body if anywhere else None
    if main is None:
        return ""
    shown = " ".join(text_without(main, UNSHOWN, _CUT)[:MAX_CHARS].split())
    return _UNIT_AGAIN.sub(r"\1", shown) if any(pair in shown for pair in _PAIRS) else shown


_CUT = " \ufffc "
"""
Replaces a script, so that the text before it and the text after it are not read as a caption and
its value.
"""
_UNIT_AGAIN = re.compile(
    r"(\d\s(?:hours?|minutes?|days?))\s(?:hours?|hrs?|h|minutes?|mins?|m|days?|d)\b", re.IGNORECASE
)
_PAIRS = (
    "hour h", "hours h", "minutes m", "minute m", "day d", "days d", "Hour h", "Hours h",
)  # fmt: skip
"""Units repeated for screen readers: `1 hour hr 15 minutes mins`."""


def _lasts(shown: str, match: re.Match[str]) -> bool:
    """Return True for `servings 10 min`, where the number is a duration."""
    return _TIME_UNIT.match(shown, match.end()) is not None


_TIME_UNIT = re.compile(r"\s*(?:h|hrs?|hours?|min\w*|std|uur|timer|ore)\b", re.IGNORECASE)


def called_servings(document: Document) -> tuple[Yield, str] | None:
    """Return the yield in an element with a class such as `servings`, and its source text."""
    for node in document.tree.css(_CALLED_SERVINGS)[:_MAX_CALLED]:
        text = node.attributes.get("data-servings") or text_without(node, UNSHOWN)
        text = " ".join((text or "").split())
        if not text and node.parent is not None:
            text = " ".join(text_without(node.parent, UNSHOWN).split())
        if len(text) <= _MAX_CALLED_CHARS and _FEW.search(text):
            read = read_yield(text)
            if read is not None:
                return read, text
    return None


_CALLED_SERVINGS = (
    '[data-servings],[itemprop="recipeYield"],[class*="serves" i],[class*="servings" i],'
    '[class*="yield" i],[class*="portion" i]'
)
_MAX_CALLED = 20
_MAX_CALLED_CHARS = 40
_FEW = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def servings(shown: str) -> tuple[Yield, str] | None:
    """Return the first yield that is not the size of one portion, and its source text."""
    for pattern in (_SERVES, _INGREDIENTS_FOR, _FOR_PEOPLE):
        for match in islice(pattern.finditer(shown), _MAX_TOKENS):
            if _lasts(shown, match) or _PER_PORTION.match(match[0]):
                continue
            if pattern is _SERVES and _counts_before(shown, match):
                continue
            read = read_yield(match[0] if pattern is _FOR_PEOPLE else match[1])
            if read is not None and not _is_of_a_portion(read):
                return read, match[0].strip()
    return None


def _counts_before(shown: str, match: re.Match[str]) -> bool:
    """Return True for `4 portioner 2 dl`, where the number is before the word."""
    before = shown[max(0, match.start() - _MAX_NUMBER_CHARS) : match.start()]
    return _COUNT_BEFORE.search(before) is not None and _COUNTED_WORD.match(match[0]) is not None


_MAX_NUMBER_CHARS = 6
_COUNT_BEFORE = re.compile(r"(?<!\d)\d{1,2}\s?\Z")
_COUNTED_WORD = re.compile(
    r"(?:serving|porti|pors|porc|porz|porç|raci|perso|порц|annos)", re.IGNORECASE
)

_PER_PORTION = re.compile(
    r"(?:per|pro|par|por)\b|(?:serving|portion)\b[\s:=–|·•-]{0,6}1(?!\d)"
    r"|1\s(?:serving|porti|porz|porc|raci|porsjon|份|人份)",
    re.IGNORECASE,
)
"""Matches the start of a nutrient table: `per portion`, `Serving: 1 cup`, `1 portion`."""


def _is_of_a_portion(read: Yield) -> bool:
    """Return True if a yield describes one portion, by its energy or by an amount in spoons."""
    if read.unit == "servings":
        return read.quantity >= _MAX_SERVINGS
    return _SPOONS.match(read.unit) is not None


_MAX_SERVINGS = 100
_SPOONS = re.compile(
    r"(?:tbsps?|tsps?|tablespoons?|teaspoons?|esslöffel|teelöffel|kcal|kj|gram|g)\b"
)


@dataclass(frozen=True, slots=True)
class _CaptionToken:
    name: str
    """A field name, or `lasts` for a duration."""
    start: int
    end: int
    minutes: int | None


_HOURS = (
    r"(?:óra|órás|d[kí]\w{0,20}|h\w{0,20}|std\w{0,20}|stunden?|uur|uren|tim\w{0,20}|godz\w{0,20}|"
    r"ώρ\w{0,20}|час\w{0,20})\.?"
)
_MINUTES = r"(?:m\w{0,8}|λεπτ\w{0,20}|мин\w{0,20}|perc)\.?"
_NUMBER = r"\d{1,4}[\d.,:/½¼¾\s\-–]{0,8}\s?"
_DURATION = (
    rf"((?:{_NUMBER}{_HOURS}[\s,]{{0,3}}(?:and|und|et|y|e|og|i)?\s{{0,3}})?{_NUMBER}{_MINUTES}"
    rf"|{_NUMBER}{_HOURS}(?:\s?\d\d(?!\d))?)"
)
_DAYS = r"(?:days?|dage|dagen|tage?n?|jours?|d[ií]as?|giorn[oi])\b"
_ABOUT = r"(?:(?:around|about|approx\w{0,20}\.?|ca\.?|circa|até|up\s+to|etwa|ongeveer|cirka)\s+)?"
_PREP = (
    r"prep(?:aration)?\s*(?:time)?|hands[- ]on\s*(?:time)?|active\s*time|"
    r"vorbereitungs?zeit|arbeitszeit|temps\s*de\s*pr[ée]paration|pr[ée]paration|tiempo\s*de\s*preparaci[óo]n|preparazione|"
    r"voorbereidingstijd|czas\s*przygotowania|förberedelse|előkészítési\s*idő|előkészület"
)
_COOK = (
    r"cook(?:ing)?\s*(?:time)?|bake\s*time|baking\s*time|kochzeit|backzeit|garzeit|"
    r"temps\s*de\s*cuisson|cuisson|tiempo\s*de\s*cocci[óo]n|cottura|tempo\s*de\s*cozimento|"
    r"kooktijd|baktijd|oventijd|czas\s*gotowania|főzési\s*idő|sütési\s*idő"
)
_TOTAL = (
    r"totale?\s*(?:time|tijd)?|ready\s*in|takes|gesamtzeit|zubereitungszeit|temps\s*total|"
    r"tiempo\s*total|tempo\s*totale|tempo\s*de\s*preparo|bereidingstijd|elkészítési\s*idő|"
    r"(?:teljes|összes)\s*idő|összidő|tilberedningstid|arbejdstid|tid\s*i\s*alt"
)
_CAPTION = (
    rf"\b(?:(?P<prep_minutes>{_PREP})|(?P<cook_minutes>{_COOK})|(?P<total_minutes>{_TOTAL}))(?!\w)"
)
_LASTS = re.compile(_DURATION, re.IGNORECASE)
_LASTS_DAYS = re.compile(rf"({_NUMBER}{_DAYS}(?:[\s,]{{0,3}}{_DURATION})?)", re.IGNORECASE)
_DAY = re.compile(rf"\d\s?{_DAYS}", re.IGNORECASE)
_BEFORE = re.compile(_CAPTION + _GAP + _ABOUT + "$", re.IGNORECASE)
_AFTER = re.compile(_GAP + _CAPTION, re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_LAST_WORDS = (
    "time", "hands-on", "hands on", "prep", "preparation", "cook", "cooking", "total", "totale",
    "takes", "in", "zeit",
    "préparation", "cuisson", "preparación", "preparacion", "cocción", "coccion", "preparazione",
    "cottura", "preparo", "prepara", "cozimento", "tijd", "przygotowania", "gotowania",
    "förberedelse", "tid", "alt", "around", "about", "approx", "approximately", "ca", "circa",
    "até", "to", "etwa", "ongeveer", "cirka", "tiempo", "tempo", "idő",
)  # fmt: skip
"""Characters that end a caption, or the text between a caption and its duration."""
_LAST_LETTERS = re.compile(r"[^\W\d_][\s:=\-–|·•.]{0,8}$")
_BESIDE = re.compile(_GAP + _ABOUT, re.IGNORECASE)
_BARE = re.compile(rf"T(?:ime|id|ijd|empo|iempo|emps|otaal)\b{_GAP}{_ABOUT}{_DURATION}")
_IN_A_STEP = re.compile(r"(?:cook|takes)\s+\d", re.IGNORECASE)
"""`Cook 5 minutes` without other captions is an instruction, not the total time."""
_MAX_RUN = 12
_MAX_NUMBERS = 5_000
_MAX_TOKENS = 300
_MAX_CAPTION_CHARS = 60
_MIN_RUN = 3


def times(shown: str, behind: int | None = None) -> dict[str, tuple[int, str]]:
    """
    Map `prep_minutes`, `cook_minutes` and `total_minutes` to minutes and their source text.

    If no known caption is found, the total is the duration after a bare `Time`, or else the
    duration at the position `behind`, the end of the servings caption (`4 servings - 30 min`).
    """
    result: dict[str, tuple[int, str]] = {}
    for run in _runs(shown):
        for name, lasts, start, end in _pairs(run):
            if len(run) < _MIN_RUN and _IN_A_STEP.match(shown, start, end):
                continue
            result.setdefault(name, (lasts, shown[start:end].strip()))
    _part(result)
    if not result:
        bare = next(_bare(shown), None)
        if bare is None and behind is not None:
            bare = _BEHIND.match(shown, behind)
        lasts_minutes = durations.minutes(bare[1].strip()) if bare else None
        if bare and lasts_minutes is not None:
            result["total_minutes"] = lasts_minutes, bare[0].strip()
    return result


def _part(result: dict[str, tuple[int, str]]) -> None:
    """Turn the total into the preparation time if its caption and a cooking time suggest that."""
    whole, cooked = result.get("total_minutes"), result.get("cook_minutes")
    if whole is None or cooked is None or "prep_minutes" in result:
        return
    if _MAY_BE_A_PART.match(whole[1]):
        result["prep_minutes"] = whole
        del result["total_minutes"]


_MAY_BE_A_PART = re.compile(
    r"\W*(?:zubereitungszeit|bereidingstijd|tempo\s*de\s*preparo|elkészítési\s*idő|"
    r"tilberedningstid)",
    re.IGNORECASE,
)
"""Captions that mean the total time if there is no cooking time."""


def _bare(shown: str) -> Iterator[re.Match[str]]:
    """
    Find a bare capitalized `Time`. The search is fast because the pattern starts with the letter.

    `Time` after another word means something else: `Oven Time` and `Rest Time` are not the total.
    """
    for match in _BARE.finditer(shown):
        before = shown[max(0, match.start() - _MAX_WORD_CHARS) : match.start()]
        if not before[-1:].isalnum() and not _PART_OF_THE_WORK.search(before):
            yield match


_MAX_WORD_CHARS = 20
_PART_OF_THE_WORK = re.compile(
    r"(?<![^\W\d_])(?:\w{2,12}ing|oven|rest|chill|cool|proof|rise|freeze|freezer|inactive|passive|"
    r"active|grill|roast|soak|wait|set|marinade|marination|fermentation|refrigeration|additional|"
    r"extra|delivery|read|smoke|steam|fry|simmer|stand|cooker|fridge|microwave)[ -]\Z",
    re.IGNORECASE,
)


_BEHIND = re.compile(r"[\s—–|·•,-]{1,5}" + _DURATION, re.IGNORECASE)


def _runs(shown: str) -> Iterator[list[_CaptionToken]]:
    """Yield sequences of captions and durations with no other text between them."""
    run: list[_CaptionToken] = []
    for token in _tokens(shown):
        beside = _BESIDE.match(shown, run[-1].end) if run else None
        if run and (beside is None or beside.end() < token.start or len(run) >= _MAX_RUN):
            yield run
            run = []
        run.append(token)
    yield run


def _tokens(shown: str) -> list[_CaptionToken]:
    """
    Return durations and captions. The search starts with durations, because they are rare and
    captions take longer to find.
    """
    result: dict[int, _CaptionToken] = {}
    has_days = _DAY.search(shown) is not None
    behind = 0
    for digits in islice(_DIGITS.finditer(shown), _MAX_NUMBERS):
        at = digits.start()
        lasts = _LASTS.match(shown, at) if at >= behind else None
        if has_days and at >= behind:
            lasts = _LASTS_DAYS.match(shown, at) or lasts
        if lasts is None or (at and shown[at - 1] in ".,"):
            continue
        start, behind = lasts.span()
        if len(result) >= _MAX_TOKENS:
            break
        result[start] = _CaptionToken("lasts", start, behind, durations.minutes(lasts[1].strip()))
        first = max(0, start - _MAX_CAPTION_CHARS)
        for caption, offset in (
            (_caption_in(shown[first:start]), first),
            (_AFTER.match(shown, behind), 0),
        ):
            if caption is not None:
                name = caption.lastgroup or ""
                begins, ends = caption.span(name)
                result[begins + offset] = _CaptionToken(name, begins + offset, ends + offset, None)
    return [result[start] for start in sorted(result)]


def _caption_in(window: str) -> re.Match[str] | None:
    """Return the caption at the end of `window`."""
    letters = _LAST_LETTERS.search(window)
    if letters is None or not window[: letters.start() + 1].lower().endswith(_LAST_WORDS):
        return None
    return _BEFORE.search(window)


_Pair = tuple[str, int, int, int]


def _pairs(run: list[_CaptionToken]) -> list[_Pair]:
    """
    Pair captions with durations, in the order that gives more pairs.

    On a tie, captions come first.
    """
    captions_first = list(_paired(run, both_ways=False))
    either_way = list(_paired(run, both_ways=True))
    return either_way if len(either_way) > len(captions_first) else captions_first


def _paired(run: list[_CaptionToken], *, both_ways: bool) -> Iterator[_Pair]:
    place = 0
    while place + 1 < len(run):
        first, other = run[place], run[place + 1]
        if first.name != "lasts" and other.minutes is not None:
            yield first.name, other.minutes, first.start, other.end
            place += 2
        elif both_ways and first.minutes is not None and other.name != "lasts":
            yield other.name, first.minutes, first.start, other.end
            place += 2
        else:
            place += 1
