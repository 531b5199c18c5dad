"""The version of the rules for custom fields, and which changes of settings it detects."""

import pytest

from aragog.pages.rules_version import RulesVersions

LAMPS = {"shop.example": {"price": "css:.price"}}
PAGE = "http://www.shop.example/p/1"


def version(tables=LAMPS, extractors=(), url=PAGE):
    return RulesVersions(extractors, tables).of(url)


def test_version_is_equal_for_equal_rules_and_for_subdomains():
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
def test_changed_rule_for_the_host_changes_the_version(tables):
    assert version(tables) != version()


def test_rules_of_other_hosts_do_not_change_the_version():
    assert version({**LAMPS, "other.example": {"price": "css:.x"}}) == version()


def test_page_without_rules_and_extractors_has_no_version():
    assert version(url="http://other.example/") == version({}) == ""
    assert version({}, ("jobs",)) != version({}, ("people",)) != ""


def test_changed_python_file_changes_the_version(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text("def lamp(page): return {}")
    kinds = {"shop.example": {"lamps": {"python": f"{file}:lamp"}}}
    before = version(kinds), version({}, (f"{file}:lamp",))
    file.write_text("def lamp(page): return {'price': 1}")

    after = version(kinds), version({}, (f"{file}:lamp",))
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert version(kinds, url="http://other.example/") == ""
