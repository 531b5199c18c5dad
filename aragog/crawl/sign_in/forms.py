"""Finds and fills in a page's forms, as browsers do (HTML, 4.10.21)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_BYTES = 1_000_000
"""Only this much of a page is searched for a form."""
_BUTTON_TYPES = frozenset({"submit", "image", "button", "reset", "file"})


@dataclass(frozen=True, slots=True)
class SignInForm:
    """A form with its default values."""

    action: str
    """The absolute URL that receives the form."""
    method: str
    values: tuple[tuple[str, str], ...]
    """The fields in order, with default values."""

    def encode_with(self, values: Mapping[str, str]) -> bytes:
        """Return the form's encoded body. `values` replace the default values."""
        pairs = [(name, values.get(name, value)) for name, value in self.values]
        return urlencode(pairs).encode("ascii")


def find_form(body: bytes, url: str, names: frozenset[str]) -> SignInForm | None:
    """
    Return the page's first form with all fields in `names`, or None.

    Args:
        body: the page, in UTF-8.
        url: the page's URL, to resolve a relative action.
        names: names of the fields to fill in.
    """
    tree = LexborHTMLParser(body[:MAX_BYTES].decode("utf-8", "replace"))
    for form in tree.css("form"):
        values = tuple(_read_values(form))
        if names and names <= {name for name, _ in values}:
            action = urljoin(url, (form.attributes.get("action") or "").strip())
            method = (form.attributes.get("method") or "get").strip().upper()
            return SignInForm(action, method, values)
    return None


def _read_values(form: LexborNode) -> Iterator[tuple[str, str]]:
    """
    Yield the fields that a browser sends when the user presses Enter, with only the first submit
    button.
    """
    has_submit_button = False
    for node in form.css("input, select, textarea, button"):
        attributes = node.attributes
        name, input_type = attributes.get("name"), (attributes.get("type") or "").lower()
        if node.tag == "button":
            input_type = input_type or "submit"
        if not name or "disabled" in attributes:
            continue
        if input_type == "submit" and not has_submit_button:
            has_submit_button = True
            yield name, attributes.get("value") or ""
        elif input_type in _BUTTON_TYPES or (
            input_type in ("checkbox", "radio") and "checked" not in attributes
        ):
            continue
        elif node.tag == "select":
            yield name, _selected_value(node)
        elif node.tag == "textarea":
            yield name, node.text()
        else:
            fallback = "on" if input_type in ("checkbox", "radio") else ""
            yield name, attributes.get("value", fallback) or ""


def _selected_value(select: LexborNode) -> str:
    options = select.css("option")
    chosen = next(
        (option_node for option_node in options if "selected" in option_node.attributes), None
    )
    option = chosen or (options[0] if options else None)
    if option is None:
        return ""
    value = option.attributes.get("value")
    return option.text().strip() if value is None else value
