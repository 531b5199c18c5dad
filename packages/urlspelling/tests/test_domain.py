import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlspelling import InvalidUrl
from urlspelling.domain import host, is_ip, origin, registered_domain, reversed_host


@pytest.mark.parametrize(
    ("url", "expected_origin", "name"),
    [
        ("https://www.example.com/a?b", "https://www.example.com", "www.example.com"),
        ("http://example.com:8080/", "http://example.com:8080", "example.com"),
        ("http://example.com?x=/", "http://example.com", "example.com"),
        ("http://127.0.0.1:80/", "http://127.0.0.1:80", "127.0.0.1"),
        ("http://[2001:db8::1]/", "http://[2001:db8::1]", "[2001:db8::1]"),
        ("http://[2001:db8::1]:81/x", "http://[2001:db8::1]:81", "[2001:db8::1]"),
    ],
)
def test_origin_and_host_are_parts_of_the_url(url, expected_origin, name):
    assert (origin(url), host(url)) == (expected_origin, name)


@pytest.mark.parametrize(
    "url", ["", "example.com", "ftp://a/", "http://", "http:///x", "http://me@a/", "http://a\\b/"]
)
def test_url_that_is_not_normalized_has_no_origin(url):
    with pytest.raises(InvalidUrl):
        origin(url)
    with pytest.raises(InvalidUrl):
        host(url)


@pytest.mark.parametrize(
    ("name", "registered"),
    [
        ("example.com", "example.com"),
        ("https://a.b.example.com:81/x", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a.b.c.kawasaki.jp", "b.c.kawasaki.jp"),
        ("me.github.io", "me.github.io"),
        ("x.me.github.io", "me.github.io"),
        ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.unknown.madeup", "unknown.madeup"),
        ("WWW.Example.COM", "example.com"),
        ("10.0.0.1", "10.0.0.1"),
        ("http://[::1]:80/", "[::1]"),
        ("", ""),
        ("..", ".."),
        ("a" * 300 + ".com", "a" * 300 + ".com"),
    ],
)
def test_registered_domain_is_the_public_suffix_and_one_label(name, registered):
    assert registered_domain(name) == registered


@pytest.mark.parametrize(
    ("name", "expected"),
    [("1.2.3.4", True), ("[::1]", True), ("1.2.3.4.example", False), ("example.com", False)],
)
def test_ip_address_is_distinguished_from_a_name(name, expected):
    assert is_ip(name) is expected


def test_reversed_hosts_of_one_site_sort_together():
    assert reversed_host("www.example.com") == "com.example.www"
    assert reversed_host("10.0.0.1") == "10.0.0.1"
    assert reversed_host("[::1]") == "[::1]"


labels = st.lists(st.text("abc0-", min_size=1, max_size=5), min_size=1, max_size=6).map(".".join)


@given(labels)
def test_reversing_a_host_twice_restores_it(name):
    assert is_ip(reversed_host(name)) or reversed_host(reversed_host(name)) == name


@given(labels)
def test_registered_domain_is_a_suffix_of_its_host_and_idempotent(name):
    registered = registered_domain(name)

    assert name == registered or name.endswith("." + registered)
    assert registered_domain(registered) == registered
