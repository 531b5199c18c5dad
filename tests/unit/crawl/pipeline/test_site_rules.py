"""Site rules, and alternative spellings checked against robots.txt."""

import pytest

from aragog.crawl.pipeline.site_rules import install_site_rules, original_form_for_robots
from aragog.errors import ConfigError
from aragog.settings import Settings
from urlspelling import normalize, use_site_rules

URL = "http://operator.test/?b=1&x=2&a=3"


@pytest.fixture
def with_rules(tmp_path):
    """Installs the rules of a file with this text until the end of the test."""

    def install(text):
        path = tmp_path / "sites.toml"
        path.write_bytes(text)
        install_site_rules(Settings(site_rules_file=path))

    yield install
    use_site_rules([])


def test_packaged_rules_apply_without_a_file():
    install_site_rules(Settings())

    assert normalize(URL) == "http://operator.test/?a=3&b=1&x=2"


def test_rules_of_the_file_apply_from_then_on(with_rules):
    with_rules(b'[[site]]\nhost = "operator.test"\ndrop = ["x"]\nsort = false')

    assert normalize(URL) == "http://operator.test/?b=1&a=3"


@pytest.mark.parametrize(
    ("text", "problem"), [(b"\xff", "cannot be read"), (b"[[site]]\nhots = 1", "hots")]
)
def test_unusable_file_is_named(with_rules, text, problem):
    with pytest.raises(ConfigError, match=problem) as refused:
        with_rules(text)

    assert "sites.toml" in str(refused.value)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"site_rules_file: .*missing.toml cannot be read"):
        install_site_rules(Settings(site_rules_file=tmp_path / "missing.toml"))


@pytest.mark.parametrize(
    ("spelling", "other"),
    [
        ("http://a.test/p", None),
        ("HTTP://a.test:80/%70#f", None),  # rules are compared without escapes
        ("http://a.test/p?b=1&a=2", "http://a.test/p?b=1&a=2"),
        ("http://a.test/p?utm_source=x", "http://a.test/p?utm_source=x"),
    ],
)
def test_robots_is_also_checked_for_the_spelling_before_normalization(spelling, other):
    assert original_form_for_robots(spelling, normalize(spelling)) == other


def test_relative_spelling_is_made_absolute():
    base = "http://a.test/dir/"

    assert (
        original_form_for_robots("?b=1&a=2", normalize("?b=1&a=2", base), base) == f"{base}?b=1&a=2"
    )
