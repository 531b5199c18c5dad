import re
import tomllib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlspelling import InvalidSiteRules, SiteRule, normalize, site_rules, use_site_rules
from urlspelling import normalize as public_normalize
from urlspelling._query import QueryRules, packaged_rules, sort_key

RULES = QueryRules(
    removed={"click"},
    prefixes=["utm_"],
    patterns={"sid": re.compile("^[0-9a-f]{8}$")},
    prefix_patterns={"aspsessionid": re.compile("")},
    sites=[
        SiteRule("a.test", keep=frozenset({"click"}), drop=frozenset({"si"})),
        SiteRule("sub.a.test", sort=False),
    ],
)


@pytest.mark.parametrize(
    ("query", "tidy"),
    [
        ("b=1&a=2", "a=2&b=1"),
        ("click=1&a", "a"),
        ("CLICK=1&Utm_x=2", ""),
        ("clicks=1", "clicks=1"),
        ("my_utm_x=1", "my_utm_x=1"),
        ("sid=0123abcd&sid=news", "sid=news"),
        ("aspsessionidABC=1", ""),
        ("=1&=0", "=0&=1"),
        ("&&", ""),
        ("c=&c&c=1", "c&c=&c=1"),
        ("%62=1&a=2", "a=2&%62=1"),
        ("a+b=1&a!=2&a=3", "a=3&a+b=1&a!=2"),
        ("a=1;jsessionid=77&b=2;c", "a=1&b=2;c"),
    ],
)
def test_query_has_one_normal_form(query, tidy):
    assert RULES.normalize_query(query, None) == tidy
    assert RULES.normalize_query(tidy, None) == tidy


def test_site_rule_overrides_the_general_rules():
    site = RULES.site("www.a.test")

    assert RULES.normalize_query("si=1&click=2&utm_x=3", site) == "click=2"


def test_longest_matching_host_decides_alone():
    site = RULES.site("x.sub.a.test")

    assert RULES.normalize_query("si=1&b&a&click", site) == "si=1&b&a"


@pytest.mark.parametrize(
    "host", ["ba.test", "test", "a.test.b", "", "[::1]", "a." * 200_000 + "a.test"]
)
def test_other_hosts_have_no_rule(host):
    assert RULES.site(host) is None


def test_later_sites_replace_earlier_ones():
    rules = RULES.with_sites([SiteRule("a.test", sort=False)])

    assert rules.normalize_query("b&click&a", rules.site("a.test")) == "b&a"
    assert rules.site("sub.a.test") == RULES.site("sub.a.test")


def test_cache_of_names_is_bounded():
    rules = QueryRules()

    for n in range(20_000):
        rules.normalize_query(f"n{n}=1", None)

    assert len(rules._kept_names) < 10_000


names = st.text("ab%2B+;=", max_size=6)


@given(st.lists(names, max_size=6), st.randoms())
def test_order_of_parameters_does_not_matter(parameters, chance):
    shuffled = parameters[:]
    chance.shuffle(shuffled)

    assert packaged_rules_once.normalize_query(
        "&".join(parameters), None
    ) == packaged_rules_once.normalize_query("&".join(shuffled), None)


packaged_rules_once = packaged_rules()


@given(st.lists(names.filter(lambda name: ";" not in name and name), max_size=6))
def test_shortcut_sorts_as_the_rule_does(parameters):
    plain = QueryRules()
    tidy = plain.normalize_query("&".join(parameters), None)

    assert tidy == plain.normalize_query("&".join(parameters), None)
    assert tidy == "&".join(sorted(parameters, key=sort_key))


# The rule files.


def test_packaged_files_are_dated_lowercase_and_without_duplicates():
    folder = resources.files("urlspelling")
    data = tomllib.loads(folder.joinpath("query_rules.toml").read_text())
    seen = [
        name
        for kind in ("tracking", "session")
        for entry in data[kind]
        for name in (*entry.get("names", ()), *entry.get("prefixes", ()))
    ]

    assert data["dated"].year >= 2026
    assert tomllib.loads(folder.joinpath("site_rules.toml").read_text())["dated"].year >= 2026
    assert len(seen) == len(set(seen))
    assert all(name == name.lower() and re.fullmatch(r"[a-z0-9_]+", name) for name in seen)


def test_packaged_site_rule_works():
    assert (
        normalize("https://www.youtube.com/watch?v=1&si=2&t=3")
        == "https://www.youtube.com/watch?t=3&v=1"
    )
    assert (
        normalize("https://www.example.com/watch?v=1&si=2")
        == "https://www.example.com/watch?si=2&v=1"
    )


def test_operator_rules_apply_to_the_whole_process():
    try:
        normalize("http://operator.test/?b&a&x")
        use_site_rules(
            site_rules('[[site]]\nhost = "Operator.test."\ndrop = ["X"]\nsort = false', "mine")
        )

        assert public_normalize("http://operator.test/?b&a&x") == "http://operator.test/?b&a"
        assert public_normalize("http://youtu.be/?si=1") == "http://youtu.be/"
    finally:
        use_site_rules([])
    assert normalize("http://operator.test/?b&a&x") == "http://operator.test/?a&b&x"


def test_all_problems_of_a_site_file_are_reported_at_once():
    text = '[[site]]\nhost = 7\n[[site]]\nhost = "a"\ndrop = "x"\nsort = "no"\nkeeps = []'

    with pytest.raises(InvalidSiteRules) as caught:
        site_rules(text, "sites.toml")

    assert caught.value.problems == (
        "sites.toml: site 1: host must be a host name in ASCII, got 7",
        "sites.toml: site 2: drop must be a list of parameter names, got 'x'",
        "sites.toml: site 2: sort must be true or false, got 'no'",
        "sites.toml: site 2: keeps is not a known key",
    )


@pytest.mark.parametrize("text", ["[[site", "site = 7", 'site = ["a"]'])
def test_malformed_site_file_is_a_config_error(text):
    with pytest.raises(InvalidSiteRules, match=r"sites\.toml"):
        site_rules(text, "sites.toml")
