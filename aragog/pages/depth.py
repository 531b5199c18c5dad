"""
Remove tags that nest too deep, following the tree construction rules of the HTML Standard.

`_Stack` models the stack of open elements (13.2.4.2 and 13.2.6.4.7). It is conservative: an end tag
closes an element only where the standard certainly closes it; in case of doubt the element stays
open. The parser's tree is therefore never deeper than `_Stack` reports, except for the few elements
that a table or a formatting element adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from aragog.pages.markup import FORMATTING, TOKEN

MAX_DEPTH = 512
MAX_STEPS = 10_000_000
"""Maximum number of stack elements examined for one page: about 1 s."""


def _names(words: str) -> frozenset[bytes]:
    return frozenset(words.encode().split())


_VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param "
    "source track wbr html head body frameset"
)
"""These elements never enter the stack, or enter it once."""
_SPECIAL = _names(
    "address applet article aside blockquote body button caption center colgroup dd details dialog "
    "dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header "
    "hgroup html iframe li listing main marquee menu nav object ol optgroup option p plaintext pre "
    "search section select summary table tbody td template tfoot th thead tr ul "
    "foreignobject desc title mi mo mn ms mtext annotation-xml"
)
_SCOPE = _names(
    "applet caption table td th marquee object template "
    "foreignobject desc title mi mo mn ms mtext annotation-xml select"
)
"""An end tag cannot close elements outside one of these."""
_TABLE_SCOPE = _names("table template")
_BLOCKS = _names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre "
    "search section summary table ul dd dt"
)
"""Each of these start tags closes an open paragraph."""
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_CELLS = _names("td th")
_SECTIONS = _names("tbody thead tfoot")
_IN_TABLES = _CELLS | _SECTIONS | _names("tr caption colgroup")
_SVG = _names(
    "a animate animatemotion animatetransform circle clippath defs ellipse feblend fecolormatrix "
    "fecomposite feflood fegaussianblur femerge femergenode feoffset filter g image line "
    "lineargradient marker mask metadata path pattern polygon polyline radialgradient rect set "
    "stop switch symbol text textpath tspan use view"
)
"""In SVG a trailing slash closes these elements."""
_BEHIND_EACH_OTHER = _names("p li dd dt tr td th option")
"""These elements close each other, so the deepest one may still contain some of them."""
_MORE = 8
_ANCHORS = _names("a nobr")
_FORMATTING = frozenset(FORMATTING) | _ANCHORS


def without_depth(
    body: bytes, is_too_much: Callable[[bytes], bool], max_tags: int, problems: list[str]
) -> bytes:
    """
    Return `body` without the tags that nest too deep and those that `is_too_much` rejects.

    Costs about 1 us per tag. A description of what was removed is added to `problems`.
    """
    parts: list[bytes] = []
    stack = _Stack()
    seen = left_out = start = 0
    for match in TOKEN.finditer(body):
        name = match[2]
        if name is None:
            continue
        seen += 1
        if seen > max_tags or stack.steps > MAX_STEPS:
            problems.append(f"more than {max_tags} tags, or too tangled: the rest unread")
            parts.append(body[start : match.start()])
            start = len(body)
            break
        name = name.lower()
        if name.startswith(b"/"):
            stack.end(name[1:])
        elif is_too_much(match[1]) or not stack.start(name, match[1]):
            parts.append(body[start : match.start()])
            start = match.end()
            left_out += 1
    if left_out:
        problems.append(f"{left_out} tags left out: nested too deep, or of too many attributes")
    parts.append(body[start:])
    return b"".join(parts)


class _Stack:
    """The open elements, innermost last."""

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._count: Counter[bytes] = Counter()
        self._in_svg = False
        self.steps = 0

    def start(self, name: bytes, tag: bytes) -> bool:
        """Open an element. Return False if it would nest too deep and must be removed."""
        if name in _VOID:
            return True
        if self._in_svg:
            if name in _SVG and tag.endswith(b"/>"):
                return True
            self._in_svg = name in _SVG
        elif name == b"svg":
            self._in_svg = not tag.endswith(b"/>")
        self._close_before(name)
        if len(self._open) >= MAX_DEPTH + (name in _BEHIND_EACH_OTHER) * _MORE:
            return False
        self._open.append(name)
        self._count[name] += 1
        return True

    def end(self, name: bytes) -> None:
        """Close an element if one is certainly open."""
        if self._open and self._open[-1] == name:
            self._count[self._open.pop()] -= 1
        elif name == b"svg":
            self._in_svg = False
            self._close(name, _SPECIAL)
        elif name in _IN_TABLES or name in _TABLE_SCOPE:
            self._close(name, _TABLE_SCOPE)
        elif name in _FORMATTING:
            self._close(name, _SPECIAL)
        elif name == b"p":
            self._close(name, _SCOPE | {b"button"})
        elif name == b"li":
            self._close(name, _SCOPE | {b"ul", b"ol"})
        else:
            self._close(name, _SCOPE if name in _SPECIAL else _SPECIAL)

    def _close_before(self, name: bytes) -> None:
        """Close the elements that a start tag closes implicitly."""
        if name in _BLOCKS:
            self._close(b"p", _SCOPE | {b"button"})
        last = self._open[-1] if self._open else b""
        if name in _ANCHORS:
            self._close(name, _SPECIAL)
        elif (name in _HEADINGS and last in _HEADINGS) or (name == last == b"option"):
            self._count[self._open.pop()] -= 1
        elif name == b"li":
            self._close(name, _SPECIAL - {b"li", b"address", b"div", b"p"})
        elif name in {b"dd", b"dt"}:
            others = _SPECIAL - {b"dd", b"dt", b"address", b"div", b"p"}
            self._close(b"dd", others) or self._close(b"dt", others)
        elif name in _IN_TABLES:
            self._close_in_table(name)

    def _close_in_table(self, name: bytes) -> None:
        for tag in _CELLS | {b"caption", b"colgroup"}:
            self._close(tag, _TABLE_SCOPE)
        if name not in _CELLS:
            self._close(b"tr", _TABLE_SCOPE)
        if name in _SECTIONS:
            for tag in _SECTIONS:
                self._close(tag, _TABLE_SCOPE)

    def _close(self, name: bytes, boundary: frozenset[bytes]) -> bool:
        """Close the innermost `name` and everything in it, unless a boundary is in between."""
        if not self._count[name]:
            return False
        opened = self._open
        for place in range(len(opened) - 1, -1, -1):
            self.steps += 1
            tag = opened[place]
            if tag == name:
                self._count.subtract(opened[place:])
                del opened[place:]
                return True
            if tag in boundary:
                return False
        return False
