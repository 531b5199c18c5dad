"""Which representation of a resource a client prefers (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Iterable

HTML, JSON = "text/html", "application/json"


def prefers_html(lines: Iterable[str]) -> bool:
    """
    True if a client asks for HTML by its name, and for JSON no more.

    Args:
        lines: the values of its Accept headers. Ranges such as `*/*` do not count: programs send
            them by default.
    """
    weights = dict(map(_weighted, ",".join(lines).split(",")))
    html = weights.get(HTML, 0.0)
    return html > 0 and html >= weights.get(JSON, 0.0)


def _weighted(text: str) -> tuple[str, float]:
    """A media type and its weight; 0.0 for one that cannot be read."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    plain = weight.replace(".", "", 1)
    return kind, float(weight) if plain.isascii() and plain.isdecimal() else 0.0
