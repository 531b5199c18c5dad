"""A page change as delivered to readers."""

from aragog.crawl.pipeline.change_json import change_to_json
from aragog.urlstore.feed import Change
from aragog.urlstore.field_formats import FieldFormats

URL = "http://a.example/"


def test_values_are_decoded_by_the_format_of_their_field():
    fields = {"team.score": ("1", "2"), "page.title": (None, "New"), "team.note": ("x", None)}
    change = Change(URL, 7, "changed", fields, ("team",), "c1")

    document = change_to_json(
        change, FieldFormats({"team.score": "json", "page.title": "text"}).to_value
    )

    assert {name: document[name] for name in ("cursor", "kind", "url", "at_ms", "owners")} == {
        "cursor": "c1", "kind": "changed", "url": URL, "at_ms": 7, "owners": ["team"],
    }  # fmt: skip
    assert document["fields"]["team.score"] == {"before": 1, "now": 2}
    assert document["fields"]["page.title"] == {"before": None, "now": "New"}
    assert document["fields"]["team.note"]["now"] is None
