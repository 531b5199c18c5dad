"""The form that starts a crawl in Flower."""

import pytest

from aragog.dashboard.crawl_form import FORM_FIELDS, MAX_SEEDS, NewCrawl, read_form
from aragog.errors import BAD_INPUT, BadInput

EMPTY = dict.fromkeys(FORM_FIELDS, "")


def read(**values):
    return read_form({**EMPTY, "crawl": "docs", **values})


def test_empty_fields_keep_the_values_of_the_crawl():
    assert read() == NewCrawl("docs", {}, ())


def test_lines_and_numbers_are_read():
    crawl = read(
        seeds="http://a.example/\r\n\r\n http://b.example/ ", scope="host:a.example", rate="1"
    )

    assert crawl.seeds == ("http://a.example/", "http://b.example/")
    assert crawl.options == {"scope": ("host:a.example",), "rate": 1.0}


@pytest.mark.parametrize(
    ("field", "text"),
    [("depth", "101"), ("max_urls", "1.5"), ("rate", "inf"), ("rate", "nan"), ("crawl", "")],
)
def test_value_out_of_bounds_is_named(field, text):
    with pytest.raises(BadInput, match="name" if field == "crawl" else field):
        read(**{field: text})


def test_invalid_seed_is_refused():
    with pytest.raises(BAD_INPUT):
        read(seeds="http://a.example/\nhttp://")


def test_too_many_seeds_are_refused():
    with pytest.raises(BadInput, match="1,001"):
        read(seeds="\n".join(f"http://a.example/{n}" for n in range(MAX_SEEDS + 1)))
