"""The main text of a page, found with trafilatura."""

import json

import pytest
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT, find

URL = "https://news.example/leeks"
FIRST = "Leeks are planted in spring and harvested from late summer on, in most of the country."
LAST = "Whoever waits until the first frost gets the mildest taste, say the growers of the valley."
PAGE = f"""<html><head><title>Leeks</title></head><body>
<nav><a href="/a">Start page</a> <a href="/b">All categories</a></nav>
<article><h1>How to grow leeks</h1><p>{FIRST}</p><h2>The harvest</h2>
<p>{LAST} See <a href="/frost">the frost table</a>.</p></article>
<aside>Subscribe to our newsletter today</aside><footer>Imprint and terms</footer></body></html>"""


def found(body, form):
    return find(parse(body.encode(), url=URL), form)


def test_main_text_leaves_out_menus_and_footer():
    text = found(PAGE, TEXT)

    assert FIRST in text
    assert LAST in text
    assert not any(part in text for part in ("Start page", "newsletter", "Imprint", "<p>", "#"))


def test_markdown_keeps_headings_and_absolute_links():
    text = found(PAGE, MARKDOWN)

    assert "## The harvest" in text
    assert "[the frost table](https://news.example/frost)" in text


@pytest.mark.parametrize("body", ["", "<p>", "\0\0\0", "<html><body></body></html>", "🥬"])
def test_page_without_text_has_empty_main_text(body):
    assert found(body, TEXT).strip() in ("", "🥬")


def test_page_without_html_and_head_tags_has_its_text():
    body = PAGE.replace("<html>", "").replace("<head>", "")

    assert FIRST in found(body, TEXT)


def test_legacy_encoding_is_decoded():
    body = PAGE.replace("Leeks are", "Poireaux d'été sont").encode("windows-1252")
    page = parse(body, url=URL, content_type="text/html; charset=windows-1252")

    assert "Poireaux d'été sont" in find(page, TEXT)


def markdown(body, url="https://docs.example/library/json.html"):
    page = parse(body.encode(), url=url, content_type="text/html; charset=utf-8")
    return find(page, MARKDOWN)


def article(inner, head=""):
    return (
        f"<html><head>{head}</head><body><article><h1>Leeks</h1><p>{FIRST}</p>{inner}<p>{LAST}</p>"
    )


@pytest.mark.parametrize(
    "line",
    [
        "Advertisement", "- ADVERTISEMENT -", "Anzeige", "Publicité", "广告",
        "Advertisement - Continue Reading Below", "Advertisement: article continues below",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_advertisement_label_is_left_out(line, form):
    text = found(article(f"<div class=ad><p>{line}</p></div>"), form)

    assert line not in text
    assert FIRST in text
    assert LAST in text


@pytest.mark.parametrize(
    "line", ["Advertisements were rare then.", "The advertisement", "Reklame!x"]
)
def test_sentence_about_advertisements_is_kept(line):
    assert line in markdown(article(f"<p>{line}</p>"))


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("stdtypes.html#str", "https://docs.example/library/stdtypes.html#str"),
        ("stdtypes.html", "https://docs.example/library/stdtypes.html"),
        ("../glossary.html", "https://docs.example/glossary.html"),
        ("/frost", "https://docs.example/frost"),
        ("//other.example/x", "https://other.example/x"),
        ("#module-json", "https://docs.example/library/json.html#module-json"),
        ("?page=2", "https://docs.example/library/json.html?page=2"),
        ("a(b).html", "<https://docs.example/library/a(b).html>"),
        ("x?a=1&amp;copy;=2", r"https://docs.example/library/x?a=1\&copy;=2"),
    ],
)
def test_relative_link_is_resolved_against_the_page_not_the_site_root(href, target):
    text = markdown(article(f'<p>Leeks freeze; see <a href="{href}">the frost table</a> too.</p>'))

    assert f"[the frost table]({target})" in text


def test_link_is_resolved_against_the_base_element():
    body = article(
        '<p>See <a href="frost">the frost table</a>, <a href="#b">below</a> too.</p>',
        '<base href="/v2/en/">',
    )

    text = markdown(body)

    assert "[the frost table](https://docs.example/v2/en/frost)" in text
    assert "[below](https://docs.example/v2/en/#b)" in text


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", " java\nscript:alert(1)",
     "vbscript:x", "blob:https://a.example/1", "file:///etc/passwd"],
)  # fmt: skip
def test_markdown_has_no_javascript_or_data_links(href):
    text = markdown(article(f'<p>Leeks freeze; see <a href="{href}">the frost table</a> too.</p>'))

    assert "see the frost table too" in text
    assert "](" not in text


@pytest.mark.parametrize(
    ("shown", "source"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt;"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("![x](https://a.example/i.png)", "![x](https://a.example/i.png)"),
        ("*no* _emphasis_ `here`", "*no* _emphasis_ `here`"),
        ("<https://a.example/>", "&lt;https://a.example/&gt;"),
        (r"a \* b \< c \\", r"a \* b \&lt; c \\"),
        (r"\(<img src=x onerror=alert(1)>\)", r"\(&lt;img src=x onerror=alert(1)&gt;\)"),
    ],
)  # fmt: skip
def test_markup_shown_as_text_stays_text_in_rendered_markdown(shown, source):
    html = rendered(markdown(article(f"<p>It says {source} on the sign in the field.</p>")))

    assert f"It says {shown} on the sign in the field." in text_of(html)
    assert not html.css("script,img,a,em,strong,code")


@pytest.mark.parametrize(
    "start", ["# no heading", "1. no list", "- no list", "> no quote", "+ no", "=== no", "12) no"]
)
def test_paragraph_starting_like_a_block_stays_a_paragraph(start):
    html = rendered(markdown(article(f"<p>{start}, says the sign beside the field of leeks.</p>")))

    assert f"{start}, says the sign beside" in text_of(html)
    assert not html.css("ul,ol,blockquote,h3")
    assert len(html.css("h1")) <= 1


JOINED = {
    "Persian": "می‌خواهم تره‌فرنگی را در باغچه بکارم و آن‌ها را هر روز آب بدهم تا بزرگ‌تر شوند.",
    "Hindi": "क्‍यों न हम इस वर्ष बगीचे में प्याज़ और लीक लगाएँ, क्‍योंकि वे सर्दियों में भी उगते हैं।",
    "emoji": "The whole family 👨‍👩‍👧 came to the field to help with the harvest this year.",
}


@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED)
@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_zero_width_joiners_are_kept(text, form):
    body = article(f"<p>{text}</p>").replace("Leeks</h1>", f"{text}</h1>")
    page = parse(body.encode(), url=URL, content_type="text/html; charset=utf-8")

    assert text in find(page, form)


@pytest.mark.parametrize("escape", [True, False])
def test_zero_width_joiners_in_a_json_ld_article_are_kept(escape):
    text = " ".join([JOINED["Persian"]] * 3)
    article_json = json.dumps({"@type": "Article", "articleBody": text}, ensure_ascii=escape)
    body = f'<html><body><script type="application/ld+json">{article_json}</script></body></html>'

    assert JOINED["Persian"] in found(body, TEXT)


IMAGES = {
    "in a figure": '<figure><img src="/i/leek.jpg" alt="A leek"><figcaption>Leek</figcaption></figure>',
    "inline": '<p>A leek <img src="/i/leek.jpg" alt="A leek"> looks like this in late summer.</p>',
    "in a link": '<p><a href="/big"><img src="/i/leek.jpg" alt="A leek"></a></p>',
    "lazy": '<div><img src="data:image/gif;base64,R0" data-src="/i/leek.jpg" alt="A leek"></div>',
    "a set": '<picture><source srcset="/x.webp"><img srcset="/i/leek.jpg 2x, /s.jpg" alt="A leek"></picture>',
    "without an extension": '<p><img src="/i/leek.jpg" alt="A leek"></p>',
}  # fmt: skip


@pytest.mark.parametrize("markup", IMAGES.values(), ids=IMAGES)
def test_image_of_the_article_is_included_with_its_alt_text(markup):
    text = markdown(article(markup))

    assert "![A leek](https://docs.example/i/leek.jpg)" in text
    assert text.index(FIRST) < text.index("![A leek]") < text.index(LAST)


def test_images_in_menus_teasers_and_tracking_pixels_are_left_out():
    nav = '<nav><img src="/logo.png" alt="Logo"></nav><aside><p><img src="/ad.png" alt="Ad"></p></aside>'
    pixel = '<p><img src="/count.gif" width=1 height=1></p>'

    text = markdown(article(pixel).replace("<article>", f"{nav}<article>"))

    assert "![" not in text


def test_plain_text_has_no_images():
    assert "leek.jpg" not in found(article(IMAGES["in a figure"]), TEXT)


def test_structure_of_an_article_survives_rendering_the_markdown():
    code = "def f(x):\n    return `x` | 1  # ```\n\n\nprint(f)"
    html = rendered(
        markdown(
            article(f"""<h2>Rules</h2><ol><li>First rule of the field
    <ul><li>inner <code>a|b</code></li></ul></li><li>Second rule of the field</li></ol>
    <pre>{code}</pre><table><tr><th>Month</th><th>Work | time</th></tr><tr><td>May</td>
    <td>plant <b>them</b></td></tr></table><blockquote><p>Leeks are lovely, they say.</p></blockquote>""")
        )
    )

    assert [text_of(node) for node in html.css("h2")] == ["Rules"]
    assert [text_of(node) for node in html.css("ol > li > ul > li")] == ["inner a|b"]
    assert html.css_first("pre").text().strip() == code
    assert [text_of(node) for node in html.css("th")] == ["Month", "Work | time"]
    assert [text_of(node) for node in html.css("td")] == ["May", "plant them"]
    assert "Leeks are lovely" in text_of(html.css_first("blockquote"))


def rendered(text):
    return LexborHTMLParser(MarkdownIt("commonmark").enable("table").render(text))


def text_of(node):
    return " ".join(node.text().split())


def test_table_and_list_inside_a_definition_are_kept():
    html = rendered(
        markdown(
            article("""<dl><dt>sort(key)</dt><dd><p>Sorts the leeks by one of these keys:</p>
    <table><thead><tr><th><p>Key</p></th><th><p>Meaning</p></th></tr></thead><tbody>
    <tr><td><p><code>size</code></p></td><td><p>by their length</p></td></tr>
    <tr><td><p>age</p></td><td></td></tr></tbody></table><p>The default is their size.</p>
    <ul class="x"><li><p>The first rule of leeks</p></li><li><p>The second rule</p></li></ul>
    </dd></dl>""")
        )
    )

    assert [text_of(cell) for cell in html.css("th")] == ["Key", "Meaning"]
    assert [text_of(cell) for cell in html.css("td")] == ["size", "by their length", "age", ""]
    assert "The second rule" in [text_of(entry) for entry in html.css("li li")]


def test_whitespace_between_elements_is_neither_lost_nor_added():
    text = found(
        article("<ul><li>Set <code>A</code> <code>B</code> and H<sub>2</sub>O, 4<sup>th</sup> of"
                " <b>May</b>, or <i>x</i><b>y</b> on a field of leeks.</li><li>Another</li></ul>"),
        TEXT,
    )  # fmt: skip

    assert "Set A B and H2O, 4th of May, or xy on a field" in text


def test_source_indentation_changes_nothing():
    body = article("<ul><li>The first rule of leeks</li><li>The second rule</li></ul>")
    spaced = body.replace("><", ">\n   <!-- x -->\n <").replace("<p>", "\n<p>\n   ")

    assert markdown(spaced) == markdown(body)
    assert found(spaced, TEXT) == found(body, TEXT)


def test_adjacent_code_spans_are_not_merged():
    html = rendered(markdown(article("<p>Write <code>a</code><code>=</code> here, it says.</p>")))

    assert [node.text() for node in html.css("code")] == ["a", "="]


@pytest.mark.parametrize("character", ["\x01", "\x0c", "\x1f", "\ufffe", "\uffff", "\x7f", "\x85"])
def test_characters_invalid_in_xml_are_tolerated(character):
    strange = f"{character}<script>var a = '\\u200c{character}'</script><pre>a{character}\nb</pre>"

    text = found(
        article(f"<p>Leeks{character} are planted in spring, they say.</p>{strange}"), TEXT
    )

    assert FIRST in text
    assert "are planted in spring, they say." in text


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
@pytest.mark.parametrize("hint", ["&shy;", "&#8203;", "\u2060", "<b>&shy;</b>", "\ufeff"])
def test_soft_hyphens_and_other_line_break_hints_are_removed(form, hint):
    body = PAGE.replace("country", f"coun{hint}try")

    assert FIRST in found(body, form).replace("**", "")
