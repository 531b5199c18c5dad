"""What trafilatura drops, moves or turns into paragraphs is in Markdown as the page has it."""

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


def test_a_heading_of_code_and_text_is_a_heading():
    heading = "<h2><code class=x><span>send_mail()</span></code> vs. <code><span>send()</span></code></h2>"

    assert texts(rendered(heading), "h2") == ["send_mail() vs. send()"]


def test_a_heading_that_the_page_says_elsewhere_as_text_is_a_heading():
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


def test_the_entries_of_a_list_are_entries_and_whole():
    entries = texts(rendered(FIELDS), "li li")

    assert entries[0] == "subject: A string."
    assert entries[1].endswith("sees the others in the line of the message that says so.")
    assert (
        entries[2] == "silent: A boolean. When it is False, send() raises an error for the caller."
    )


def test_a_row_of_a_table_is_one_even_if_a_cell_is_empty_or_holds_a_list():
    table = """<table><tr><th>Month</th><th>Work</th></tr><tr><td>May and June</td><td></td></tr>
    <tr><td>July and August</td><td><ul><li>water</li><li>weed</li></ul></td></tr></table>"""

    assert texts(rendered(table), "tr") == [
        "Month Work", "May and June", "July and August water weed",
    ]  # fmt: skip


def test_a_table_that_lays_out_a_page_is_not_a_table_of_markdown():
    cells = f"<td><h2>Planting</h2><p>{SENTENCE}</p></td><td><p>{SENTENCE}</p><pre>a = 1\nb = 2</pre></td>"
    tree = rendered(f"<table><tr>{cells}</tr></table>")

    assert tree.css_first("table") is None
    assert texts(tree, "h2") == ["Planting"]
    assert tree.css_first("pre").text() == "a = 1\nb = 2\n"


def test_a_link_around_a_heading_is_written_inside_it():
    card = f"<a href=/sow><h2>Sowing</h2><p>{SENTENCE}</p></a>"

    assert texts(rendered(card), "h2 > a[href='https://docs.example/sow']") == ["Sowing"]


def test_the_caption_of_a_table_is_written_before_it():
    table = (
        "<table><caption>Work by month</caption><tr><td>May</td><td>plant them</td></tr></table>"
    )

    assert "Work by month" in texts(rendered(table), "p")


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_two_words_around_what_was_left_out_are_two(form):
    line = (
        f"<p>{SENTENCE}They say <span hidden>see the note</span>that rain helps them to grow.</p>"
    )

    assert "say that rain" in " ".join(found(line, form).split())


# ---------------------------------------------------------------- selection, without a library


def composed(page, *chosen):
    """What is kept of a page if a library returned these blocks, as (tag, text)."""
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


def test_a_short_text_is_that_between_its_neighbors():
    page = f"<p>Share</p><p>{SENTENCE}</p><p>Share</p><p>{SENTENCE}More.</p><p>Share</p>"
    share, kept = composed(page, f"<p>{SENTENCE}</p>", "<p>Share</p>", f"<p>{SENTENCE}More.</p>")

    assert share == 1
    assert kept == [("p", SENTENCE), ("p", "Share"), ("p", f"{SENTENCE}More.")]


def test_a_block_of_which_most_was_chosen_is_whole_and_another_is_not():
    page = f"<p>{SENTENCE}<b>Or so.</b></p><div><i>Menu</i></div>"

    assert composed(page, f"<p>{SENTENCE}</p>")[1] == [
        ("p", f"{SENTENCE} Or so."),
        ("hi", "Or so."),
    ]


def test_blocks_that_were_joined_are_found_by_their_letters():
    page = f"<div>{SENTENCE}</div><div>Total</div><script>x</script><div>Leeks</div>"
    share, kept = composed(page, f"<p>{SENTENCE}TotalLeeks</p>")

    assert share == 1
    assert [text for _, text in kept] == [SENTENCE, "Total", "Leeks"]


def test_what_the_page_lacks_lowers_the_share():
    share, _ = composed(f"<p>{SENTENCE}</p>", f"<p>{SENTENCE}</p>", "<p>0123456789 0123456789</p>")

    assert share == pytest.approx(71 / 91, abs=0.01)


def test_the_title_of_a_page_is_not_text_of_it():
    page = f"<html><head><title>{SENTENCE}</title></head><body><h2>{SENTENCE}</h2></body></html>"
    _, kept = composed(page, f"<h2>{SENTENCE}</h2>")

    assert kept == [("head", SENTENCE)]


def test_elements_nested_deeply_are_not_a_fault():
    page = "<div>" * 900 + f"<p>{SENTENCE}</p>" + "</div>" * 900
    parser = html.HTMLParser(huge_tree=True)
    texts_found = texts_of(etree.fromstring(page, parser))
    body = html.fragment_fromstring(f"<div><p>{SENTENCE}</p></div>")

    assert select(texts_found, blocks_of(body)) == 1
    assert SENTENCE in "".join(compose(texts_found).itertext())


@pytest.mark.parametrize(
    "between", ["<div class=spacer></div>", "<hr>", "<div><script>x()</script></div>"]
)
def test_an_empty_block_divides_two_texts(between):
    content = f"<div><span style='display: block'>Method</span>{between}<span>In a bowl, mix them. {SENTENCE}</span></div>"

    assert "MethodIn" not in found(content)


def test_cells_that_span_columns_and_rows_leave_the_others_in_their_columns():
    table = """<table><tr><th>Name</th><th>Field</th><th>Age</th></tr><tr><td rowspan=2>John</td>
    <td>Leeks</td><td>30</td></tr><tr><td>Onions</td><td>31</td></tr><tr><td colspan=2>all</td><td>61</td></tr></table>"""
    rows = rendered(table).css("tr")

    assert [[cell.text() for cell in row.css("td")] for row in rows[1:]] == [
        ["John", "Leeks", "30"], ["", "Onions", "31"], ["all", "", "61"],
    ]  # fmt: skip


def test_a_table_with_a_heading_in_a_cell_of_its_own_is_a_table():
    table = """<table><tr><th colspan=2><h3>Battery</h3></th></tr><tr><td>Kind of battery</td><td>Li-Ion</td></tr>
    <tr><td>Battery is included</td><td>Yes</td></tr></table>"""

    assert texts(rendered(table), "tr")[1:] == ["Kind of battery Li-Ion", "Battery is included Yes"]


def test_code_within_a_line_is_one_line_however_its_source_is_wrapped():
    content = f"<ul><li>Pass <code>(name,\n  text)</code> to it, as the others do. {SENTENCE}</li><li>Or not.</li></ul>"

    assert "Pass `(name, text)` to it" in found(content)


def test_a_table_whose_code_is_wrapped_in_the_source_is_a_table():
    table = """<table><tr><th>Command</th><th><code>USING\nexpression</code></th></tr>
    <tr><td>SELECT</td><td>Existing row</td></tr></table>"""

    assert texts(rendered(table), "tr") == ["Command USING expression", "SELECT Existing row"]


def test_notes_below_a_table_leave_it_a_table():
    notes = "".join(f"<p>Note {number} on the work of a month.</p>" for number in range(5))
    table = f"""<table><tr><th>Month</th><th>Work</th></tr><tr><td>May and June</td><td>planting</td></tr>
    <tr><td colspan=2>{notes}</td></tr></table>"""

    assert texts(rendered(table), "tr")[:2] == ["Month Work", "May and June planting"]


def test_an_entry_of_which_only_links_and_code_were_chosen_is_kept_as_a_whole():
    """`[MEDIA_ROOT][MEDIA_URL]` stood in place of two sentences."""
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


def test_a_word_between_two_that_were_chosen_is_kept():
    """The heading "ADMINS and MANAGERS" became ADMINSMANAGERS."""
    tree = html.fromstring("<h3><code>ADMINS</code> and the other <code>MANAGERS</code></h3>")
    page = texts_of(tree)
    select(page, [ChosenBlock("heading", "ADMINSMANAGERS", ("ADMINS", "MANAGERS"))])

    assert all(piece.kept for piece in page.pieces)
