"""Extracted values do not depend on how characters, tags and whitespace are written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.extraction import extract
from richpins.rich_pins import to_fields
from richpins.structured_data.searchable import make_searchable

POLISH = """<html lang=pl><title>Zupa</title><h1>Zupa</h1><h2>Składniki</h2><ul><li>2 łyżki masła</li>
<li>1 kg porów</li><li>500 ml wody</li></ul><h2>Przygotowanie</h2><ol><li>Pokrój pory i usmaż je na maśle.</li>
<li>Zalej wodą i gotuj przez pół godziny.</li></ol>"""
CHINESE = """<html lang=zh><title>韭菜汤</title><h1>韭菜汤</h1><h2>食材</h2><ul><li>韭菜 200 克</li><li>水 500 毫升</li>
<li>盐 5 克</li></ul><h2>做法</h2><ol><li>把韭菜洗净，切成小段备用。</li><li>锅中加水煮开，放入韭菜煮五分钟。</li></ol>"""
SHOP = """<html lang=sk><title>Hrniec</title><h1>Hrniec</h1><table><tr><th>Značka:</th><td>Pot & Co</td></tr>
<tr><th>Kód tovaru</th><td>P-77</td></tr></table><div class="cena price">12,50 €</div><button class="btn">Do košíka</button>"""
ARTICLE = """<html lang=de><title>Über Lauch</title><article><h1>Über Lauch</h1><p>von <b>Änne Löwe</b></p>
<p>1. März 2024</p><p>Lauch wächst.</p></article>"""
PAGES = [POLISH, CHINESE, SHOP, ARTICLE]


def change_text(page, change):
    return re.sub(r">([^<]+)<", lambda match: f">{change(match[1])}<", page)


MARKUP_VARIANTS = {
    "decimal references": lambda page: "".join(c if c.isascii() else f"&#{ord(c)};" for c in page),
    "hexadecimal references": lambda page: "".join(
        c if c.isascii() else f"&#x{ord(c):X};" for c in page
    ),
    "ASCII letters as references": lambda page: change_text(
        page, lambda text: "".join(f"&#{ord(c)};" if c.isalpha() else c for c in text)
    ),
    "upper-case tags": lambda page: re.sub(r"</?[a-z0-9]+", lambda tag: tag[0].upper(), page),
    "comments": lambda page: page.replace("<", "<!-- <b>- > --><"),
    "whitespace between tags": lambda page: page.replace("><", ">\n" + 90 * " " + "<"),
    "single quotes": lambda page: page.replace('"', "'"),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("variant", MARKUP_VARIANTS)
def test_equivalent_markup_gives_the_same_fields(page, variant):
    def fields(markup):
        pin = extract(markup.encode(), "https://a.test/x", "text/html; charset=utf-8")
        return to_fields(pin)[0]

    expected = fields(page)
    assert len(expected) > 5
    assert fields(MARKUP_VARIANTS[variant](page)) == expected


@pytest.mark.parametrize("text", ["Brand: Pot", "<li>Brand: Pot</li>"])
def test_comment_is_not_a_value(text):
    markup = f"<title>Mug</title><meta property=og:type content=product><h1>Mug</h1><!-- {text} -->"

    assert extract(markup.encode(), "https://a.test/x").product.brand is None


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b"sk&#322;adniki", "składniki".encode()), (b"&#x5584;&#21892;", "善善".encode()),
        (b"&eacute;&Auml;", "éÄ".encode()), (b"&#112;rice", b"price"),
        (b"&amp;&lt;&#60;&#34;&#39;&nbsp;&copy=1 &unknown;", b"&amp;&lt;&#60;&#34;&#39;&nbsp;&copy=1 &unknown;"),
        (b"a<!-- b -->c", b"ac"), (b"a<!-->b<!--->c", b"abc"), (b"a<!--b--!>c", b"ac"),
        (b"a<!-- b", b"a"), (b"<script><!-- a --></script>", b"<script><!-- a --></script>"),
        (b"<STYLE><!-- a --></STYLE><!-- b -->", b"<STYLE><!-- a --></STYLE>"),
        (b"a \n\t b", b"a b"), (b"", b""),
    ],
)  # fmt: skip
def test_searchable_decodes_references_and_drops_comments(page, expected):
    assert make_searchable(page) == expected


@given(st.text("ab <>&#;x-!/scriptyle", max_size=60))
def test_searchable_text_collapses_spaces_and_never_grows(text):
    once = make_searchable(text.encode())

    assert b"  " not in once
    assert len(once) <= len(text.encode())


@given(st.text("ab \t\r\n\f\v", max_size=200))
def test_each_run_of_whitespace_becomes_one_space(text):
    assert make_searchable(text.encode()) == " ".join(text.split()).encode()


@pytest.mark.parametrize("before", range(4))
def test_whitespace_across_a_chunk_boundary_becomes_one_space(before):
    page = (262_142 + before) * b"a" + b"  b   c"

    assert make_searchable(page) == page.replace(b"   ", b" ").replace(b"  ", b" ")
