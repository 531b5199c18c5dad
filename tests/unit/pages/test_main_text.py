"""How main texts are stored, and custom text finders."""

from importlib.metadata import EntryPoint

import orjson
import pytest

from aragog.errors import ConfigError
from aragog.pages import main_text
from aragog.pages.main_text import TextFinder, TextTooLong, load_from
from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT

URL = "https://news.example/leeks"
FIRST = "Leeks are planted in spring and harvested from late summer on, in most of the country."
LAST = "Whoever waits until the first frost gets the mildest taste, say the growers of the valley."
PAGE = f"""<html><head><title>Leeks</title></head><body>
<nav><a href="/a">Start page</a> <a href="/b">All categories</a></nav>
<article><h1>How to grow leeks</h1><p>{FIRST}</p><h2>The harvest</h2>
<p>{LAST} See <a href="/frost">the frost table</a>.</p></article>
<aside>Subscribe to our newsletter today</aside><footer>Imprint and terms</footer></body></html>"""


def upper(page, form):
    """A text finder as declared by a package."""
    return f"{form}: {page.title}".upper()


def test_fields_of_a_page_have_its_texts_and_their_version():
    finder = TextFinder(upper, "upper 1.0")
    page = parse(b"<title>A page</title>", url=URL)

    assert main_text.to_fields(page, finder, (TEXT, MARKDOWN)) == {
        "page.text": b'"TEXT: A PAGE"',
        "page.markdown": b'"MARKDOWN: A PAGE"',
        "page.text_version": b'"upper 1.0: markdown, text"',
    }


def test_empty_or_unselected_text_is_not_a_field():
    finder = TextFinder(lambda *_: "", "none 1.0")

    fields = main_text.to_fields(parse(b"", url=URL), finder, (TEXT,))

    assert fields == {"page.text_version": b'"none 1.0: text"'}


def test_half_of_a_surrogate_pair_does_not_reach_the_store():
    finder = TextFinder(lambda *_: "a\ud83d", "odd 1.0")

    fields = main_text.to_fields(parse(b"", url=URL), finder, (TEXT,))

    assert orjson.loads(fields["page.text"]) == "a?"


def test_text_too_long_for_a_field_is_refused_with_its_size():
    finder = TextFinder(lambda *_: "é" * 600_000, "long 1.0")

    with pytest.raises(TextTooLong, match="has 1200002 bytes; the limit is 1000000"):
        main_text.to_fields(parse(b"", url=URL), finder, (TEXT,))


def test_package_can_declare_a_finder():
    point = EntryPoint("upper", f"{__name__}:upper", main_text.GROUP)

    finder = load_from([point], "upper")

    assert finder.find(parse(b"<title>a</title>", url=URL), TEXT) == "TEXT: A"
    assert finder.version == "upper 0"


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "no installed package declares 'mine' under aragog.text_finders; declared: trafil"),
        ([EntryPoint("mine", "no_such_module:x", main_text.GROUP)], "'mine' cannot be loaded"),
    ],
)
def test_missing_finder_is_named(points, message):
    with pytest.raises(ConfigError, match=message):
        load_from(points, "mine")
