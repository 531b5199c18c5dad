"""Markdown keeps the structure that trafilatura drops, moves or turns into paragraphs."""

from __future__ import annotations

import pytest
from lxml import etree, html
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from richpins.article.composition import compose
from richpins.article.page_texts import ChosenBlock, blocks_of, texts_of
from richpins.article.selection import select
from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT, find

URL = "https://docs.example/leeks"
SENTENCE = "Leeks are planted in spring and harvested from late summer on, in most of the country. "


def found(content, form=MARKDOWN):
    body = f"<html><body><article><h1>Leeks</h1><p>{SENTENCE * 3}</p>{content}<p>{SENTENCE}</p></article>"
    return find(parse(body.encode(), url=URL), form)


def rendered(content):
    markdown = found(content)
    return LexborHTMLParser(MarkdownIt("commonmark").enable("table").render(markdown))


def texts(tree, query):
    return [" ".join(node.text().split()) for node in tree.css(query)]


def test_heading_of_code_and_text_is_a_heading():
    heading = "<h2><code class=x><span>send_mail()</span></code> vs. <code><span>send()</span></code></h2>"

    assert texts(rendered(heading), "h2") == ["send_mail() vs. send()"]


def test_heading_repeated_elsewhere_as_text_is_a_heading():
    before = "<div><span>Planting in May</span></div>"
    page = f"<h2>Planting in May</h2><p>{SENTENCE}</p><h2>Harvest</h2><p>{SENTENCE}</p>{before}"

    assert texts(rendered(page), "h2") == ["Planting in May", "Harvest"]


FIELDS = """<p>The function has these fields:</p><dl class=py><dt><code>send</code>(subject)</dt><dd><p>The
function has fields that say what is sent and to whom it is sent.</p><ul class=simple>
<li><code><span>subject</span></code>: A string.</li>
<li><code><span>recipients</span></code>: A list of strings. Each member of <code><span>recipients</span></code>
sees the others in the line of the message that says so.</li>
<li><code><span>silent</span></code>: A boolean. When it is <code><span>False</span></code>,
<a href="#send"><code><span>send()</span></code></a> raises an error for the caller.</li></ul></dd></dl>"""


def test_list_items_stay_complete():
    entries = texts(rendered(FIELDS), "li li")

    assert entries[0] == "subject: A string."
    assert entries[1].endswith("sees the others in the line of the message that says so.")
    assert (
        entries[2] == "silent: A boolean. When it is False, send() raises an error for the caller."
    )


def test_table_row_with_an_empty_cell_or_a_list_stays_one_row():
    table = """<table><tr><th>Month</th><th>Work</th></tr><tr><td>May and June</td><td></td></tr>
    <tr><td>July and August</td><td><ul><li>water</li><li>weed</li></ul></td></tr></table>"""

    assert texts(rendered(table), "tr") == [
        "Month Work", "May and June", "July and August water weed",
    ]  # fmt: skip


def test_layout_table_does_not_become_a_markdown_table():
    cells = f"<td><h2>Planting</h2><p>{SENTENCE}</p></td><td><p>{SENTENCE}</p><pre>a = 1\nb = 2</pre></td>"
    tree = rendered(f"<table><tr>{cells}</tr></table>")

    assert tree.css_first("table") is None
    assert texts(tree, "h2") == ["Planting"]
    assert tree.css_first("pre").text() == "a = 1\nb = 2\n"


def test_link_around_a_heading_is_written_inside_it():
    card = f"<a href=/sow><h2>Sowing</h2><p>{SENTENCE}</p></a>"

    assert texts(rendered(card), "h2 > a[href='https://docs.example/sow']") == ["Sowing"]


def test_table_caption_is_written_before_the_table():
    table = (
        "<table><caption>Work by month</caption><tr><td>May</td><td>plant them</td></tr></table>"
    )

    assert "Work by month" in texts(rendered(table), "p")


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_words_around_omitted_text_stay_separate(form):
    line = (
        f"<p>{SENTENCE}They say <span hidden>see the note</span>that rain helps them to grow.</p>"
    )

    assert "say that rain" in " ".join(found(line, form).split())


# ---------------------------------------------------------------- selection, without a library


def composed(page, *chosen):
    """The extracted share and kept (tag, text) pairs of a page if a library returned `blocks`."""
    tree = html.document_fromstring(page)
    found_texts = texts_of(tree)
    body = html.fragment_fromstring(f"<div>{''.join(chosen)}</div>")
    share = select(found_texts, blocks_of(body))
    kept = [
        (element.tag, " ".join(element.itertext()))
        for element in compose(found_texts).iter()
        if (element.text or "").strip()
    ]
    return share, kept


def test_short_text_is_matched_between_its_neighbors():
    page = f"<p>Share</p><p>{SENTENCE}</p><p>Share</p><p>{SENTENCE}More.</p><p>Share</p>"
    share, kept = composed(page, f"<p>{SENTENCE}</p>", "<p>Share</p>", f"<p>{SENTENCE}More.</p>")

    assert share == 1
    assert kept == [("p", SENTENCE), ("p", "Share"), ("p", f"{SENTENCE}More.")]


def test_mostly_chosen_block_is_kept_whole():
    page = f"<p>{SENTENCE}<b>Or so.</b></p><div><i>Menu</i></div>"

    assert composed(page, f"<p>{SENTENCE}</p>")[1] == [
        ("p", f"{SENTENCE} Or so."),
        ("hi", "Or so."),
    ]


def test_joined_blocks_are_matched_by_their_letters():
    page = f"<div>{SENTENCE}</div><div>Total</div><script>x</script><div>Leeks</div>"
    share, kept = composed(page, f"<p>{SENTENCE}TotalLeeks</p>")

    assert share == 1
    assert [text for _, text in kept] == [SENTENCE, "Total", "Leeks"]


def test_text_missing_in_the_page_lowers_the_share():
    share, _ = composed(f"<p>{SENTENCE}</p>", f"<p>{SENTENCE}</p>", "<p>0123456789 0123456789</p>")

    assert share == pytest.approx(71 / 91, abs=0.01)


def test_title_element_is_not_part_of_the_text():
    page = f"<html><head><title>{SENTENCE}</title></head><body><h2>{SENTENCE}</h2></body></html>"
    _, kept = composed(page, f"<h2>{SENTENCE}</h2>")

    assert kept == [("head", SENTENCE)]


def test_deeply_nested_elements_are_handled():
    page = "<div>" * 900 + f"<p>{SENTENCE}</p>" + "</div>" * 900
    parser = html.HTMLParser(huge_tree=True)
    texts_found = texts_of(etree.fromstring(page, parser))
    body = html.fragment_fromstring(f"<div><p>{SENTENCE}</p></div>")

    assert select(texts_found, blocks_of(body)) == 1
    assert SENTENCE in "".join(compose(texts_found).itertext())


@pytest.mark.parametrize(
    "between", ["<div class=spacer></div>", "<hr>", "<div><script>x()</script></div>"]
)
def test_empty_block_separates_two_texts(between):
    content = f"<div><span style='display: block'>Method</span>{between}<span>In a bowl, mix them. {SENTENCE}</span></div>"

    assert "MethodIn" not in found(content)


def test_spanning_cells_keep_the_others_in_their_columns():
    table = """<table><tr><th>Name</th><th>Field</th><th>Age</th></tr><tr><td rowspan=2>John</td>
    <td>Leeks</td><td>30</td></tr><tr><td>Onions</td><td>31</td></tr><tr><td colspan=2>all</td><td>61</td></tr></table>"""
    rows = rendered(table).css("tr")

    assert [[cell.text() for cell in row.css("td")] for row in rows[1:]] == [
        ["John", "Leeks", "30"], ["", "Onions", "31"], ["all", "", "61"],
    ]  # fmt: skip


def test_table_with_a_heading_in_a_spanning_cell_is_a_table():
    table = """<table><tr><th colspan=2><h3>Battery</h3></th></tr><tr><td>Kind of battery</td><td>Li-Ion</td></tr>
    <tr><td>Battery is included</td><td>Yes</td></tr></table>"""

    assert texts(rendered(table), "tr")[1:] == ["Kind of battery Li-Ion", "Battery is included Yes"]


def test_inline_code_stays_on_one_line_when_the_source_is_wrapped():
    content = f"<ul><li>Pass <code>(name,\n  text)</code> to it, as the others do. {SENTENCE}</li><li>Or not.</li></ul>"

    assert "Pass `(name, text)` to it" in found(content)


def test_table_with_wrapped_inline_code_is_a_table():
    table = """<table><tr><th>Command</th><th><code>USING\nexpression</code></th></tr>
    <tr><td>SELECT</td><td>Existing row</td></tr></table>"""

    assert texts(rendered(table), "tr") == ["Command USING expression", "SELECT Existing row"]


def test_notes_below_a_table_do_not_break_it():
    notes = "".join(f"<p>Note {number} on the work of a month.</p>" for number in range(5))
    table = f"""<table><tr><th>Month</th><th>Work</th></tr><tr><td>May and June</td><td>planting</td></tr>
    <tr><td colspan=2>{notes}</td></tr></table>"""

    assert texts(rendered(table), "tr")[:2] == ["Month Work", "May and June planting"]


def test_list_item_with_only_its_links_and_code_chosen_is_kept_whole():
    """Regression: `[MEDIA_ROOT][MEDIA_URL]` replaced two sentences."""
    tree = html.fromstring(
        "<div><ol><li>In your settings file define <a href=a><code>MEDIA_ROOT</code></a> as the path"
        " where uploaded files go, and <code>MEDIA_URL</code> as its public address.</li></ol>"
        "<ul><li><a href=b>Home</a> <a href=c>Search all that stands here about it</a></li></ul></div>"
    )
    page = texts_of(tree)
    select(
        page,
        [
            ChosenBlock("entry", "MEDIAROOT", ("MEDIAROOT",)),
            ChosenBlock("entry", "Home", ("Home",)),
        ],
    )

    kept = "".join(
        piece.element.tail if piece.is_tail else piece.element.text
        for piece in page.pieces
        if piece.kept
    )
    assert kept.startswith("In your settings file define MEDIA_ROOT as the path")
    assert "public address." in kept
    assert "Search" not in kept


def test_word_between_two_chosen_ones_is_kept():
    """Regression: the heading "ADMINS and MANAGERS" became ADMINSMANAGERS."""
    tree = html.fromstring("<h3><code>ADMINS</code> and the other <code>MANAGERS</code></h3>")
    page = texts_of(tree)
    select(page, [ChosenBlock("heading", "ADMINSMANAGERS", ("ADMINS", "MANAGERS"))])

    assert all(piece.kept for piece in page.pieces)
