"""The form that starts a crawl in Flower. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from aragog.api.operations.crawl_start import StartCrawlRequest
from aragog.api.operations.options import non_default_options, validate_options
from aragog.errors import BadInput
from urlspelling import normalize

MAX_SEEDS = 1_000
"""Maximum number of seeds in the form. `aragog crawl start` takes files with more."""
NUMBERS: Mapping[str, Callable[[str], float]] = {
    "depth": int,
    "max_urls": int,
    "max_urls_per_host": int,
    "max_bytes": int,
    "rate": float,
}
"""The fields with a number, and how they are parsed. Empty fields keep the crawl's value."""
FORM_FIELDS = ("crawl", "seeds", "scope", *NUMBERS)


class NewCrawl(NamedTuple):
    """A crawl to start, or to change and continue."""

    name: str
    options: Mapping[str, Any]
    """For `CrawlControl.start`; without the fields that were left empty."""
    seeds: tuple[str, ...]


def read_form(values: Mapping[str, str]) -> NewCrawl:
    """
    Return the crawl that a form describes, with the same bounds as over HTTP.

    Args:
        values: the text of each of `FORM_FIELDS`. Seeds and rules of the scope are one per line.

    Raises:
        BadInput: a field is not a number or out of its bounds, or there are too many seeds.
        InvalidUrl: a seed is not a URL.
    """
    numbers = {name: _number(name, text) for name in NUMBERS if (text := values[name].strip())}
    request = validate_options(
        StartCrawlRequest(values["crawl"].strip(), scope=_lines(values["scope"]) or None, **numbers)
    )
    seeds = _lines(values["seeds"])
    if len(seeds) > MAX_SEEDS:
        raise BadInput(
            f"seeds: must be at most {MAX_SEEDS:,}, got {len(seeds):,}; "
            "`aragog crawl start NAME FILE` takes more"
        )
    for seed in seeds:
        normalize(seed)
    options = non_default_options(request)
    return NewCrawl(options.pop("name"), options, seeds)


def _number(name: str, text: str) -> Any:
    try:
        return NUMBERS[name](text)
    except ValueError as error:
        raise BadInput(f"{name}: must be a number, got {text[:80]!r}") from error


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
