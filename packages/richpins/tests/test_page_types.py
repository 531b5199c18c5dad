"""The registry of page types: adding one takes a single file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from richpins import page_types
from richpins.rich_pins import RichPin

CONCERT = '''
from dataclasses import dataclass

from richpins.page_types import PageType
from richpins.values import scalars


@dataclass(frozen=True, slots=True, kw_only=True)
class Concert:
    """Music that is played somewhere."""

    performer: str | None = None


def read(sources, nodes):
    performers = sources.scalars(nodes, "performer")
    return Concert(performer=sources.ledger.pick("concert.performer", scalars.name, performers))


PAGE_TYPE = PageType(
    name="concert", record=Concert, schema_types=frozenset({"musicevent"}), weight=65, read=read
)
'''
PAGE = """<title>Winter songs</title><script type="application/ld+json">
{"@context": "https://schema.org", "@type": "MusicEvent", "name": "Winter songs",
 "performer": {"@type": "Person", "name": "Ada Voss"}}</script>"""


CODE = """
import sys
from richpins import page_types
page_types.__path__.append(sys.argv[1])
page_types.NAMES += ("concert",)
from richpins.extraction import extract
from richpins.field_types import extracted_types
from richpins.rich_pins import to_fields
pin = extract(sys.argv[2].encode(), "https://hall.test/winter")
print(pin.type, pin.concert.performer, pin.recipe)
print(to_fields(pin)[0]["concert.performer"].decode(), "concert.performer" in extracted_types())
"""


def test_page_types_are_named_after_their_modules():
    assert tuple(sorted(t.name for t in page_types.page_types())) == page_types.NAMES
    assert {"recipe", "product", "article", "place", "movie", "app"} <= set(page_types.NAMES)


def test_new_file_adds_a_page_type(tmp_path):
    (tmp_path / "concert.py").write_text(CONCERT)

    printed = subprocess.run(
        [sys.executable, "-c", CODE, tmp_path, PAGE], capture_output=True, text=True, check=True
    ).stdout

    assert printed.splitlines() == ["concert Ada Voss None", '"Ada Voss" True']


def test_unknown_attribute_is_an_error():
    with pytest.raises(AttributeError, match="concert"):
        RichPin(type="page", url="https://hall.test/").concert  # noqa: B018
