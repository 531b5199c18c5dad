"""The normalization policy, one example per step, and properties that hold for any text."""

import re
import sys

import ada_url
import can_ada
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from urlspelling import MAX_URL_CHARS, InvalidUrl, explain, normalize, resolve, url_key

SPELLINGS = {
    "whitespace around and inside": ("  http://a.test/x\ty\n ", "http://a.test/xy"),
    "scheme and host are lowercased, the path is not": ("HTTP://A.Test/Path", "http://a.test/Path"),
    "backslashes are slashes": ("http:\\\\a.test\\x", "http://a.test/x"),
    "an empty path is a slash": ("http://a.test", "http://a.test/"),
    "user name and password are removed": ("http://me:secret@a.test/", "http://a.test/"),
    "default port is removed": ("http://a.test:80/", "http://a.test/"),
    "empty port is removed": ("https://a.test:/", "https://a.test/"),
    "another port stays": ("https://a.test:0080/", "https://a.test:80/"),
    "trailing host dot is removed": ("http://a.test.:81/", "http://a.test:81/"),
    "two trailing dots are not removed": ("http://a.test../", "http://a.test../"),
    "www stays": ("http://www.a.test/", "http://www.a.test/"),
    "sharp s is a separate letter": ("http://faß.de/", "http://xn--fa-hia.de/"),
    "capital sharp s too": ("http://FAẞ.de/", "http://xn--fa-hia.de/"),
    "final sigma too": ("http://σς.gr/", "http://xn--3xab.gr/"),
    "full-width digits are digits": ("http://１２7.0.0.1/", "http://127.0.0.1/"),
    "an ideographic full stop is a dot": ("http://a。test/", "http://a.test/"),
    "an escaped host is decoded": ("http://%61.te%73t/", "http://a.test/"),
    "IPv4 as one number": ("http://2130706433/", "http://127.0.0.1/"),
    "IPv4 in hex and parts": ("http://0x7f.1/", "http://127.0.0.1/"),
    "IPv4 in octal": ("http://0177.0.0.01/", "http://127.0.0.1/"),
    "IPv4 with a dot": ("http://127.0.0.1./", "http://127.0.0.1/"),
    "IPv6 is shortened": ("http://[2001:DB8:0:0:0:0:0:1]:80/", "http://[2001:db8::1]/"),
    "dot segments": ("http://a.test/b/./c/../../d/%2E%2e/e", "http://a.test/e"),
    "duplicate slashes stay": ("http://a.test//b///c/", "http://a.test//b///c/"),
    "a trailing slash stays": ("http://a.test/b/", "http://a.test/b/"),
    "index pages stay": ("http://a.test/index.html", "http://a.test/index.html"),
    "unreserved escapes are decoded": ("http://a.test/%7E%41%2d?%5F=%30", "http://a.test/~A-?_=0"),
    "reserved escapes stay and are uppercased": ("http://a.test/a%2fb%3a?c=%26", "http://a.test/a%2Fb%3A?c=%26"),
    "reserved characters stay unescaped": ("http://a.test/!$&'()*+,;=:@", "http://a.test/!$&'()*+,;=:@"),
    "a stray percent sign is escaped": ("http://a.test/90%?a=%zz&b=%", "http://a.test/90%25?a=%25zz&b=%25"),
    "a JavaScript escape stays": ("http://a.test/%u011F?s=ni%u011fde&%uD83D%uDE00", "http://a.test/%u011F?%uD83D%uDE00&s=ni%u011fde"),
    "an incomplete JavaScript escape is escaped": ("http://a.test/%u011?a=%U011f&b=%u%3011f&c=%%75011f&d=%u0g11", "http://a.test/%25u011?a=%25U011f&b=%25u011f&c=%25u011f&d=%25u0g11"),
    "an escaped percent sign is kept": ("http://a.test/%25u011f", "http://a.test/%25u011f"),
    "decoding never creates a new escape": ("http://a.test/%%34%31", "http://a.test/%2541"),
    "characters forbidden by RFC 3986 are escaped": ("http://a.test/{|}^?x[]=`\\", "http://a.test/%7B%7C%7D%5E?x%5B%5D=%60%5C"),
    "non-ASCII letters are escaped as UTF-8": ("http://a.test/ü?ß", "http://a.test/%C3%BC?%C3%9F"),
    "bytes that are not UTF-8 stay": ("http://a.test/?q=b%a3", "http://a.test/?q=b%A3"),
    "a lone surrogate is replaced": ("http://a.test/\ud800", "http://a.test/%EF%BF%BD"),
    "two surrogates are one character": ("http://a.test/\ud83d\ude00", "http://a.test/%F0%9F%98%80"),
    "plus and %20 stay different": ("http://a.test/?a=b+c&d=e%20f", "http://a.test/?a=b+c&d=e%20f"),
    "empty query is removed": ("http://a.test/?", "http://a.test/"),
    "empty parameters are removed": ("http://a.test/?&&a=1&", "http://a.test/?a=1"),
    "only empty parameters": ("http://a.test/?&&", "http://a.test/"),
    "empty values stay": ("http://a.test/?b=&a", "http://a.test/?a&b="),
    "fragment is removed": ("http://a.test/x#y?z", "http://a.test/x"),
    "application fragment is also removed": ("http://a.test/#!/x", "http://a.test/"),
    "query is sorted by name, then value": ("http://a.test/?b=2&a=2&b=1&a=10", "http://a.test/?a=10&a=2&b=1&b=2"),
    "a name sorts before longer names": ("http://a.test/?a-b=1&a=2", "http://a.test/?a=2&a-b=1"),
    "names are sorted after decoding": ("http://a.test/?%C3%A9=1&z=2", "http://a.test/?z=2&%C3%A9=1"),
    "duplicate parameters stay": ("http://a.test/?a=1&a=1", "http://a.test/?a=1&a=1"),
    "semicolons do not separate": ("http://a.test/?q=tl;dr&a=1", "http://a.test/?a=1&q=tl;dr"),
    "a query that is not a form stays": ("http://a.test/?/b/c//d", "http://a.test/?/b/c//d"),
    "tracking is removed": ("http://a.test/?utm_source=x&id=1&fbclid=y&UTM_Term=z", "http://a.test/?id=1"),
    "escaped tracking is removed": ("http://a.test/?%75tm_source=x", "http://a.test/"),
    "source and ref stay": ("http://a.test/?source=catalog&ref=7", "http://a.test/?ref=7&source=catalog"),
    "session is removed": ("http://a.test/?PHPSESSID=abc&id=1", "http://a.test/?id=1"),
    "session in the path is removed": ("http://a.test/x;JSESSIONID=1A.node2?b", "http://a.test/x?b"),
    "session after the query is removed": ("http://a.test/x?b=1;jsessionid=1A", "http://a.test/x?b=1"),
    "ASP.NET session is removed": ("http://a.test/(S(4hqa0555fwsecu455xqckv45))/x.aspx", "http://a.test/x.aspx"),
    "a conference session stays": ("http://a.test/?sessionid=123", "http://a.test/?sessionid=123"),
    "a section id stays": ("http://a.test/?sid=sports", "http://a.test/?sid=sports"),
    "a digest in sid is removed": ("http://a.test/?sid=587fba8f825b05844526519fdb7d75c8", "http://a.test/"),
}  # fmt: skip


@pytest.mark.parametrize(("url", "normal"), SPELLINGS.values(), ids=SPELLINGS)
def test_url_has_one_normal_form(url, normal):
    assert normalize(url) == normal
    assert normalize(normal) == normal


@pytest.mark.parametrize(
    "url",
    ["", " ", "a.test", "/x", "//a.test/", "http:", "http://", "https:///", "ftp://a.test/", "mailto:me@a.test",
     "javascript:alert(1)", "data:,x", "http://a b/", "http://a.test:99999/", "http://[::1", "http://1.2.3.256/",
     "http://a\u200db.test/", "http://%00/", "http://\ud800.test/", "view-source:http://a.test/"],
)  # fmt: skip
def test_url_of_another_scheme_or_form_is_invalid(url):
    with pytest.raises(InvalidUrl):
        normalize(url)


def test_reason_distinguishes_relative_from_broken_urls():
    with pytest.raises(InvalidUrl, match="relative"):
        normalize("/x")
    with pytest.raises(InvalidUrl, match="not a URL"):
        normalize("http://a b/")
    with pytest.raises(InvalidUrl, match="not an http"):
        normalize("ftp://a.test/")


@pytest.mark.parametrize("url", [None, 7, b"http://a.test/", ["http://a.test/"]])
def test_other_types_are_a_type_error(url):
    with pytest.raises(TypeError):
        normalize(url)


@pytest.mark.parametrize(
    ("reference", "normal"),
    [
        ("g", "http://a/b/c/g"),
        ("./g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y#s", "http://a/b/c/g?y"),
        ("", "http://a/b/c/d;p?q"),
        ("../../../g", "http://a/g"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("http:g", "http://a/b/c/g"),
        ("https:g", "https://g/"),
        ("/\t/%C3%BC.test/", "http://xn--tda.test/"),
        ("é", "http://a/b/c/%C3%A9"),
        ("%C3%A9/x", "http://a/b/c/%C3%A9/x"),
        ("//%41.test/", "http://a.test/"),
    ],
)
def test_reference_is_resolved_against_its_base(reference, normal):
    assert normalize(reference, "http://a/b/c/d;p?q") == normal


def test_base_may_be_unnormalized():
    assert normalize("x", " HTTP://me@FAẞ.de:80/a/../b#f ") == "http://xn--fa-hia.de/x"


@pytest.mark.parametrize("base", ["", "a.test", "mailto:me@a.test", "about:blank", "http://a b/"])
def test_reference_to_an_unusable_base_is_invalid(base):
    with pytest.raises(InvalidUrl):
        normalize("x", base)


def test_absolute_url_ignores_its_base():
    assert normalize("http://a.test/", "about:blank") == "http://a.test/"


def test_key_is_16_bytes_and_stable():
    assert url_key("http://example.com/").hex() == "2a1b402420ef46577471cdc7409b0fa2"
    assert len(url_key("http://example.com/")) == 16
    assert url_key("http://example.com/") != url_key("https://example.com/")


# Properties that hold for any text.

pieces = st.sampled_from(
    ["http://", "https://", "HTTP:", "//", "/", "\\", "?", "#", "&", "=", ";", "%", "%2", "%2e", "%2F", "%41", "%zz", "%25", "%u", "%u011f",
     "..", ".", "@", ":", "80", "[", "]", "::1", "|", "^", "{", "+", " ", "\t", "\x00", "ü", "ß", "ẞ", "。", "\u200d", "\ud800",
     "a", "A.b", "xn--", "xn--fa-hia", "0x7f", "127", "1", "utm_source=x", "sid=", "PHPSESSID=", ";jsessionid=", "sessionid=",
     "(S(4hqa0555fwsecu455xqckv45))", "example.com", "www.", "co.uk", "a=1", "b", "%C3%A9", "%ff", "~", "-"]
)  # fmt: skip
joined = st.lists(pieces, max_size=14).map("".join)
web = st.tuples(st.sampled_from(["http://", "https://"]), joined).map("".join)
anything = st.one_of(
    joined,
    web,
    st.text(max_size=60),
    st.text(st.characters(), max_size=20).map("http://a.test/".__add__),
)


def normalize_or_none(url, base=None):
    try:
        return normalize(url, base)
    except InvalidUrl:
        return None


@given(anything, st.none() | anything)
@example("http://a/;jsessi;jsessionid=1onid=2", None)
@example("http://a/..;jsessionid=1/b", None)
@example("http://a/%2e;jsessionid=1;jsessionid=2/b", None)
@example("http://a/(S(4hqa0555fwsecu455xqckv45);jsessionid=1)/x", None)
@example("http://a/?utm_source;jsessionid=1", None)
@example("http://a/;jsessionid=..;jsessionid=", None)
def test_any_text_is_invalid_or_normal_after_one_pass(url, base):
    normal = normalize_or_none(url, base)

    if normal is not None:
        assert normalize(normal) == normal
        assert normalize(normal, "http://other.test/x") == normal


@given(web)
def test_normal_url_is_ascii_in_its_simplest_form(url):
    normal = normalize_or_none(url)

    if normal is not None:
        assert re.fullmatch(
            r"https?://(?:\[[0-9a-f:]+\]|[^\s\[\]@/?#:]+)(?::\d+)?/[^\s\[\]\\^`{|}#?]*(?:\?[^\s\[\]\\^`{|}#]+)?",
            normal,
        )
        assert re.search(r"%(?!u[0-9A-Fa-f]{4}|[0-9A-F]{2})", normal.partition("/")[2]) is None


@given(anything, st.none() | web)
def test_explanation_ends_with_the_normal_form(url, base):
    normal = normalize_or_none(url, base)

    if normal is not None:
        steps = explain(url, base)
        assert (steps[-1].after if steps else url) == normal
        assert all(step.before != step.after for step in steps)
        assert [s.before for s in steps[1:]] == [s.after for s in steps[:-1]]
        assert not explain(normal)


def parse_exactly(url):
    try:
        return ada_url.normalize_url(url)
    except ValueError:
        return None


@given(anything.map(lambda text: "".join(c for c in text if not "\ud800" <= c <= "\udfff")))
def test_fast_parser_is_used_only_where_it_agrees_with_the_exact_one(url):
    try:
        parsed = resolve(url)
    except ValueError:
        parsed = None

    if parsed is None:
        assert parse_exactly(url) is None
    elif parsed.startswith("http"):
        # Since 2024 the URL Standard escapes `^` in paths; normalization does so in any case.
        assert parsed.replace("^", "%5E") == parse_exactly(url).replace("^", "%5E")


def test_both_parsers_behave_as_expected():
    assert ada_url.normalize_url("http://FAẞ.de/") == "http://xn--fa-hia.de/"
    assert str(can_ada.parse("http://a.test/b/../c")) == "http://a.test/c"


HOSTILE = {
    "a path": lambda n: "http://a.test/" + "a" * n,
    "dot segments": lambda n: "http://a.test/" + "a/" * (n // 4) + "../" * (n // 6),
    "percent signs": lambda n: "http://a.test/" + "%" * n,
    "escapes": lambda n: "http://a.test/" + "%7e" * (n // 3),
    "sessions": lambda n: "http://a.test/" + ";jsessionid=" * (n // 12),
    "half sessions": lambda n: "http://a.test/" + "/(S(" * (n // 4),
    "parameters": lambda n: "http://a.test/?" + "b&a=1&" * (n // 6),
    "different parameters": lambda n: (
        "http://a.test/?" + "&".join(f"n{i}=%41" for i in range(n // 9))
    ),
    "ampersands": lambda n: "http://a.test/?" + "&" * n,
    "one name": lambda n: "http://a.test/?" + "a" * n + "=1",
    "question marks": lambda n: "http://a.test/" + "?" * n,
    "at signs": lambda n: "http://" + "@" * n + "a.test/",
    "dots": lambda n: "http://a" + "." * n + "/",
    "labels": lambda n: "http://" + "a." * (n // 2) + "test/",
    "ideographs": lambda n: (
        "http://" + "".join(chr(0x4E00 + i % 20_000) for i in range(n // 3)) + ".test/"
    ),
    "escaped ideographs": lambda n: "http://" + "%E4%B8%80" * (n // 9) + ".test/",
    "punycode": lambda n: "http://ü." + "xn--fa-hia." * (n // 11) + "test/",
    "blanks": lambda n: " " * (n // 2) + "http://a.test/" + "\t" * (n // 2),
    "slashes": lambda n: "http:" + "/" * n + "a.test",
    "zeros": lambda n: "http://a.test:" + "0" * n + "80/",
    "fragments": lambda n: "http://a.test/#" + "#" * n,
}


def count_calls(url):
    """The number of Python and C functions called by normalization, once its caches are filled."""
    normalize_or_none(url)
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        normalize_or_none(url)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_work_grows_linearly_with_the_length(make):
    assert count_calls(make(40_000)) <= 2.1 * count_calls(make(20_000)) + 100


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_megabyte_long_url_is_handled(make):
    normal = normalize_or_none(make(1_000_000))

    assert normal is None or normalize_or_none(normal) == normal


@example("")
@example(".")
@example("a/../b")
@example("a/.")
@example("a//b/")
@example("a;jsessionid=1")
@example("a?b")
@example("%41")
@example("(S(lit3py55t21z5v55vlm25s55))/a")
@given(st.text("aZ0/._~!$&'()*+,;=:@-%?#[]\\^`{|} \"<>\n\x7fü"))
def test_shortcut_for_normal_urls_gives_the_same_result(path):
    # A leading space is removed, and disables the shortcut.
    assert normalize(f"http://a.test:81/{path}") == normalize(f" http://a.test:81/{path}")


@given(anything)
def test_host_shortcut_gives_the_same_result(host):
    assert normalize_or_none(f"http://{host}/p") == normalize_or_none(f" http://{host}/p")


LONGEST = f"http://a.test/{'x' * (MAX_URL_CHARS - 14)}"


def test_longest_allowed_url_is_normal():
    assert len(LONGEST) == MAX_URL_CHARS
    assert normalize(LONGEST) == LONGEST


@pytest.mark.parametrize(
    ("url", "base"),
    [
        (LONGEST + "x", None),
        ("x" * 99, LONGEST.replace("xxx", "yy/", 1) + "/"),
        (f"http://a.test/{'|' * 3_000}", None),
        (f"http://a.test/?q={'x' * MAX_URL_CHARS}", None),
    ],
)
def test_longer_url_is_rejected_after_any_step(url, base):
    with pytest.raises(InvalidUrl, match="longer than 8192 characters"):
        normalize(url, base)
