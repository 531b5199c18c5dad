"""The registry of page types: a new one is one file."""

from __future__ import annotations

import pytest

from aragog.pages import page_types, subject
from aragog.pages.extraction import extract
from aragog.pages.rich_pins import RichPin, field_names, to_fields

EVENT = '''
from dataclasses import dataclass

from aragog.pages.page_types import PageType
from aragog.pages.values import scalars


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
PAGE = b"""<title>Winter songs</title><script type="application/ld+json">
{"@context": "https://schema.org", "@type": "MusicEvent", "name": "Winter songs",
 "performer": {"@type": "Person", "name": "Ada Voss"}}</script>"""


@pytest.fixture
def concerts(tmp_path, monkeypatch):
    """The page type `concert`, as one more file in the folder of page types."""
    (tmp_path / "concert.py").write_text(EVENT)
    monkeypatch.setattr(page_types, "__path__", [*page_types.__path__, str(tmp_path)])
    monkeypatch.setattr(page_types, "NAMES", tuple(sorted([*page_types.NAMES, "concert"])))
    _forget()
    yield
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    page_types.page_types.cache_clear()
    subject._typed.cache_clear()


def test_the_names_are_those_of_the_modules():
    assert page_types.NAMES == tuple(sorted(t.name for t in page_types.page_types()))
    assert {"recipe", "product", "article", "place", "movie", "app"} <= set(page_types.NAMES)


def test_one_more_file_is_one_more_page_type(concerts):
    pin = extract(PAGE, "https://hall.test/winter")

    assert (pin.type, pin.concert.performer, pin.recipe) == ("concert", "Ada Voss", None)
    assert to_fields(pin)[0]["concert.performer"] == b'"Ada Voss"'
    assert "concert.performer" in field_names()


def test_an_attribute_that_is_no_page_type_is_an_error():
    with pytest.raises(AttributeError, match="concert"):
        RichPin(type="page", url="https://hall.test/").concert  # noqa: B018


def test_a_module_without_its_page_type_is_named(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("PAGE_TYPE = None\n")
    monkeypatch.setattr(page_types, "__path__", [*page_types.__path__, str(tmp_path)])

    with pytest.raises(TypeError, match="broken must define PAGE_TYPE"):
        page_types._registered("broken")
