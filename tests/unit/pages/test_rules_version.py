"""The version of what reads a page's own fields: which changes of settings it notices."""

import pytest

from aragog.pages.rules_version import RulesVersions

LAMPS = {"shop.example": {"price": "css:.price"}}
PAGE = "http://www.shop.example/p/1"


def version(tables=LAMPS, extractors=(), url=PAGE):
    return RulesVersions(extractors, tables).of(url)


def test_it_is_the_same_for_equal_rules_in_any_order_and_for_hosts_below():
    one = {"shop.example": {"price": "css:.price", "name": "css:h1"}, "b.example": {"x": "css:p"}}
    other = {"b.example": {"x": "css:p"}, "shop.example": {"name": "css:h1", "price": "css:.price"}}

    assert version(one) == version(other) == version(one, url="http://shop.example/")


CARDS = {"each": ".card", "fields": {"a": "css:b"}}


@pytest.mark.parametrize(
    "tables",
    [
        {"shop.example": {"price": "css:.sum"}},
        {"shop.example": {"price": "css:.price", "name": "css:h1"}},
        {**LAMPS, "www.shop.example": {"price": "css:.sum"}},
        {"shop.example": {"price": "css:.price", "cards": CARDS}},
    ],
)
def test_a_change_of_a_rule_for_the_host_changes_it(tables):
    assert version(tables) != version()


def test_rules_of_other_hosts_do_not_change_it():
    assert version({**LAMPS, "other.example": {"price": "css:.x"}}) == version()


def test_a_page_without_rules_and_extractors_has_none():
    assert version(url="http://other.example/") == version({}) == ""
    assert version({}, ("jobs",)) != version({}, ("people",)) != ""


def test_a_change_of_a_python_file_changes_it(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text("def lamp(page): return {}")
    kinds = {"shop.example": {"lamps": {"python": f"{file}:lamp"}}}
    before = version(kinds), version({}, (f"{file}:lamp",))
    file.write_text("def lamp(page): return {'price': 1}")

    after = version(kinds), version({}, (f"{file}:lamp",))
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert version(kinds, url="http://other.example/") == ""
