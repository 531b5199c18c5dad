"""
Write the formulas of a page, which are in MathML, as text on one line.

Plain text has the symbols with the signs that programs and people use on a line: `x^2`, `a_1`,
`(a+b)/2`, `√x`. Markdown has the formula's TeX, if the page contains it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_TEX = re.compile(r"(?i)(?:\A|[/-])(?:x-)?(?:la)?tex\b")
_DISPLAY_STYLE = re.compile(r"\A\{\\(?:displaystyle|textstyle)\b ?(.*)\}\Z", re.DOTALL)
_SCRIPT = re.compile(r"(?i)math/(?:la)?tex\b")
_INVISIBLE = {ord(sign): None for sign in "\u2061\u2062\u2063\u2064"}
"""Function application, and invisible multiplication, separator and addition."""
_SOURCES = frozenset({"annotation", "annotation-xml"})
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MAX_FORMULAS = 5_000
_MAX_DEPTH = 60
"""Elements nested deeper are written without signs."""


def write_formulas(tree: Any, *, as_tex: bool) -> None:
    """Replace each `math` element with text; with `as_tex`, with TeX between delimiters."""
    for container in list(tree.iter("mjx-container"))[:_MAX_FORMULAS]:
        _leave_only_formula(container)
    for formula in list(tree.iter("math"))[:_MAX_FORMULAS]:
        tex = _tex_of(formula) if as_tex else ""
        text = _as_markup(tex) if tex else " ".join(_line(formula, 0).split())
        for child in list(formula):
            formula.remove(child)
        # trafilatura would replace a `math` element with its attribute.
        formula.tag, formula.text = "span", text
        formula.attrib.pop("alttext", None)
        _show(formula)
        _remove_picture(formula)
    for script in list(tree.iter("script")):
        if script.text and _SCRIPT.match(script.get("type") or ""):
            tex = " ".join(script.text.split())
            script.tag, script.text = "span", _as_markup(tex) if as_tex else tex


def _tex_of(formula: Any) -> str:
    """Return the TeX of a formula on one line, or an empty string."""
    for source in formula.iter("annotation"):
        if _TEX.search(source.get("encoding") or ""):
            text = " ".join((source.text or "").split())
            style = _DISPLAY_STYLE.match(text)
            return style[1] if style else text
    return ""


def _as_markup(tex: str) -> str:
    """Return TeX between the delimiters that the writer of Markdown knows, without `<` and `>`."""
    without_tags = tex.replace("<", r"\lt ").replace(">", r"\gt ")
    return rf"\({' '.join(without_tags.split())}\)"


def _show(formula: Any) -> None:
    """Show a formula that is hidden because a picture or a script stands for it."""
    element = formula
    for _ in range(2):
        if element is None or (element is not formula and element.tag != "span"):
            return
        style = (element.get("style") or "").replace(" ", "").lower()
        if "display:none" in style:
            del element.attrib["style"]
        element = element.getparent()


def _leave_only_formula(container: Any) -> None:
    """Turn MathJax's element into a span; style sheets draw its other content."""
    formula = container.find(".//math")
    for child in list(container):
        container.remove(child)
    container.tag = "span"
    if formula is not None:
        formula.tail = None
        container.append(formula)


def _remove_picture(formula: Any) -> None:
    """Remove the picture of a formula, which stands beside it for browsers without MathML."""
    element = formula
    for _ in range(_MAX_CLIMB):
        following = element.getnext()
        if following is not None and following.tag == "img":
            if "math" in (following.get("class") or ""):
                following.drop_tree()
            return
        element = element.getparent()
        if element is None or element.tag != "span":
            return


_MAX_CLIMB = 3


def _line(element: Any, depth: int) -> str:
    """Return the symbols of an element on one line."""
    if not isinstance(element.tag, str) or element.tag in _SOURCES:
        return ""
    if depth > _MAX_DEPTH:
        return "".join(element.itertext()).translate(_INVISIBLE)
    parts = [part for child in element if (part := _line(child, depth + 1))]
    write = _NOTATIONS.get(element.tag)
    if write is not None and len(parts) == write[0]:
        return write[1](*parts)
    if element.tag in {"msqrt", "mtr", "mtable", "mfenced"} and parts:
        return _enclosed(element.tag, parts)
    if element.tag in {"mspace", "mtext"} and not len(element):
        return f" {element.text or ''} "
    own = " ".join((element.text or "").split()) if not len(element) else ""
    return f"{own}{''.join(parts)}".translate(_INVISIBLE)


def _enclosed(tag: str, parts: list[str]) -> str:
    if tag == "msqrt":
        return f"√{_grouped(''.join(parts))}"
    if tag == "mfenced":
        return f"({', '.join(parts)})"
    return {"mtr": ", ", "mtable": "; "}[tag].join(parts)


def _grouped(text: str) -> str:
    """Return a text, in parentheses if it is more than one sign, number or name."""
    text = text.strip()
    is_one = len(text) <= 1 or text.isalpha() or _NUMBER.fullmatch(text)
    return text if is_one or (text[0] in "([|" and text[-1] in ")]|") else f"({text})"


def _raised(base: str, exponent: str) -> str:
    if exponent in {"′", "″", "'", "∗", "*", "†", "°"}:
        return f"{base}{exponent}"
    return f"{_grouped(base)}^{_grouped(exponent)}"


def _over(base: str, above: str) -> str:
    is_accent = len(above) == 1 and not above.isalnum()
    return f"{base}{above}" if is_accent else f"{base}^{_grouped(above)}"


_NOTATIONS: dict[str, tuple[int, Callable[..., str]]] = {
    "msup": (2, _raised),
    "msub": (2, lambda base, below: f"{_grouped(base)}_{_grouped(below)}"),
    "msubsup": (3, lambda base, below, above: f"{base}_{_grouped(below)}^{_grouped(above)}"),
    "mfrac": (2, lambda above, below: f"{_grouped(above)}/{_grouped(below)}"),
    "mroot": (2, lambda base, index: f"{_grouped(base)}^(1/{_grouped(index)})"),
    "mover": (2, _over),
    "munder": (2, lambda base, below: f"{base}_{_grouped(below)}"),
    "munderover": (3, lambda base, below, above: f"{base}_{_grouped(below)}^{_grouped(above)}"),
}
"""The number of parts of an element, and how they are written."""
