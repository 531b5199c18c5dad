"""A text starts with its lead, not with the breadcrumbs, date or title above it."""

from __future__ import annotations

import pytest

from richpins import document, main_text
from richpins.article import opening

pytest.importorskip("trafilatura")

SENTENCES = (
    "The old mill at the river bend was sold in spring to two brothers from the next valley.",
    "They want to grind rye again, as their grandfather did until the flood took the wheel.",
    "The council gave its leave in June, after three meetings and a long walk along the weir.",
    "A new wheel of larch is being made in a workshop that had closed for eleven years.",
    "The first bread of the mill's own flour is to be sold at the market in the autumn.",
    "Neighbors lend tools and hands, and ask for nothing but a loaf when it is done.",
)
STORY = "".join(
    f"<p>{each} {each[:-1]}, people say, and they are glad of it.</p>" for each in SENTENCES
)
LEAD = "Two brothers bring a mill back to life that stood still for half a century."
TITLE = "The mill at the bend grinds again"
HEADING = f"<h1>{TITLE}</h1>"
DESCRIPTION = f'<meta name="description" content="{LEAD}">'


def text_of(
    body: str, head: str = "", title: str = f"{TITLE} | The Valley Post", form: str = "text"
) -> str:
    markup = f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    return main_text.find(document.parse(markup.encode(), url="https://post.test/mill"), form)


LEADS = {
    "a header paragraph": f"<header>{HEADING}<p class=subtitle>{LEAD}</p></header><div>{STORY}</div>",
    "a header block": f"<header>{HEADING}<div>{LEAD}</div></header><div class=text>{STORY}</div>",
    "a second heading": f"<div class=head>{HEADING}<h2>{LEAD}</h2></div><div class=text>{STORY}</div>",
    "a span": f"<section>{HEADING}<div><span>{LEAD}</span></div></section><section>{STORY}</section>",
    "bold": f"<div>{HEADING}</div><div><p><strong>{LEAD}</strong></p></div><div class=text>{STORY}</div>",
    "next to a place": f"<header>{HEADING}<p><b>Mill Bend.</b> {LEAD}</p></header><div>{STORY}</div>",
    "above a picture": f"<header>{HEADING}<p>{LEAD}</p></header><figure><img src=/a.jpg>"
    f"<figcaption>The wheel, half done</figcaption></figure><div>{STORY}</div>",
}  # fmt: skip


@pytest.mark.parametrize("body", LEADS.values(), ids=LEADS)
@pytest.mark.parametrize(
    "head",
    [
        DESCRIPTION,
        f'<meta property="og:description" content="{LEAD}">',
        f'<meta name="twitter:description" content="{LEAD}">',
        f'<meta name="description" content="{LEAD[:60]}…">',
        f'<meta name="description" content="{LEAD} {SENTENCES[0]}">',
    ],
    ids=["description", "og", "twitter", "truncated", "longer"],
)
def test_lead_that_matches_the_description_starts_the_text(body, head):
    text = text_of(f"<article>{body}</article>", head)

    assert text.count(LEAD) == 1
    assert text.index(LEAD) < text.index(SENTENCES[0])


@pytest.mark.parametrize(
    ("lead", "language"),
    [
        ("Zwei Brüder wecken eine Mühle, die ein halbes Jahrhundert lang stillstand.", "de"),
        ("Dos hermanos devuelven la vida a un molino que estuvo parado medio siglo.", "es"),
        ("二人の兄弟が半世紀止まっていた水車小屋をもう一度動かそうとしている。", "ja"),
        ("Два брата возвращают к жизни мельницу, которая стояла полвека.", "ru"),
    ],
)
def test_lead_in_another_language_starts_the_text(lead, language):
    body = f"<article><header>{HEADING}<p>{lead}</p></header><div>{STORY}</div></article>"

    assert lead in text_of(body, f'<meta name="description" content="{lead}">')


@pytest.mark.parametrize(
    "body",
    [
        f"{HEADING}<figure><img src=/a.jpg><figcaption>{LEAD}</figcaption></figure><div>{STORY}</div>",
        f"<nav><p>{LEAD}</p></nav>{HEADING}<div>{STORY}</div>",
        f"<aside><p>{LEAD}</p></aside>{HEADING}<div>{STORY}</div>",
        f"<div><a href=/mill>{LEAD}</a></div>{HEADING}<div>{STORY}</div>",
        f"{HEADING}<div>{STORY}</div><div class=related><p>{LEAD}</p></div>",
    ],
    ids=["caption", "menu", "aside", "link", "after the text"],
)
def test_description_repeated_elsewhere_is_not_a_lead(body):
    assert LEAD not in text_of(f"<article>{body}</article>", DESCRIPTION)


def test_lead_that_is_the_first_paragraph_is_not_repeated():
    body = f"<article><div class=teaser>{SENTENCES[0]}</div>{HEADING}<div>{STORY}</div></article>"

    assert text_of(body, f'<meta name="description" content="{SENTENCES[0]}">') == text_of(body)


TRAILS = {
    "list": f"<ul><li><a href=/>Home</a></li><li><a href=/local>Local</a></li><li>{TITLE}</li></ul>",
    "list without the current page": "<ul><li><a href=/>Start</a></li><li><a href=/ort>Gemeinde</a></li></ul>",
    "numbered": "<ol><li><a href=/>Inicio</a></li><li><a href=/local>Comarca</a></li></ol>",
    "signs": f"<p><a href=/>Home</a> &gt; <a href=/local>Local</a> &gt; {TITLE}</p>",
    "slashes": f"<div><a href=/>Start</a> / <a href=/local>Region</a> / {TITLE}</div>",
    "spaces": f"<div><a href=/>Haberler</a> <a href=/local>Gündem</a> <span>{TITLE}</span></div>",
    "date in a list": "<ul><li>18.05.2026</li><li><a href=/local>→ Schwerpunkt</a></li></ul>",
}


@pytest.mark.parametrize("form", main_text.FORMS)
@pytest.mark.parametrize("trail", TRAILS.values(), ids=TRAILS)
def test_text_does_not_start_with_breadcrumbs(trail, form):
    text = text_of(f"<article>{trail}{HEADING}{STORY}</article>", form=form)

    start = text[: text.index(SENTENCES[0][:30])].replace(f"# {TITLE}", "")
    assert not start.strip()


@pytest.mark.parametrize(
    "contents",
    [
        "<ul><li><a href=#a>The wheel</a></li><li><a href=#b>The bread</a></li></ul>",
        "<ul><li>The wheel is made of larch</li><li>The bread is made of rye</li></ul>",
        "<ul><li><b>Sold:</b> in spring</li><li><b>Opens:</b> in the autumn</li></ul>",
    ],
    ids=["contents", "in short", "facts"],
)
def test_other_lists_may_start_a_text(contents):
    assert "wheel" in text_of(f"<article>{HEADING}{contents}{STORY}</article>")[:120] or (
        "in spring" in text_of(f"<article>{HEADING}{contents}{STORY}</article>")[:120]
    )


DATES = (
    "posted on April 21, 2015, at 11:29 a.m.",
    "08.04.2015 12:46",
    "Erstellt: 28.04.2023, 18:16 Uhr",
    "November 20, 2019 - 11:28 AMT",
    "5:45 AM PST 11/19/2019 by Ada Voss",
    "By Ada Voss on Monday, November 18th, 2019 at 11:04 a.m.",
    "2025年1月13日 21時37分",
    "기사입력 :[ 2018-08-25 15:24 ]",
    "Publié le 12 mars 2024 à 14h30",
    "20 Nisan 2026",
    "2024-05-01T10:00",
    "Last updated: 3 June 2021",
)


@pytest.mark.parametrize("form", main_text.FORMS)
@pytest.mark.parametrize("line", DATES)
def test_text_does_not_start_with_the_date_of_the_page(line, form):
    text = text_of(f"<article>{HEADING}<p>{line}</p>{STORY}</article>", form=form)

    assert line.replace("[", "").split()[-1] not in text[: text.index(SENTENCES[0][:30])]


@pytest.mark.parametrize(
    "line",
    [
        "In 2019 the mill was still dry.",
        "The flood of 21 April 1962 took the wheel, and with it the bridge and two barns.",
        "It was 11:29 when the water came.",
        "The 10 best mills of 2017",
    ],
)
def test_sentence_with_a_date_may_start_a_text(line):
    tag = "p" if line.endswith(".") else "h2"

    assert line in text_of(f"<article>{HEADING}<{tag}>{line}</{tag}>{STORY}</article>")


@pytest.mark.parametrize(
    "again",
    [
        f"<h2>{TITLE}</h2>",
        f"<h3>{TITLE}</h3>",
        f"<ul><li>{TITLE}</li></ul>",
        f"<p>{TITLE}</p>",
        f"<h1><span>A mill wakes</span><br>{TITLE}</h1>",
        f"<h1><a href=/mill>{TITLE}</a></h1>",
    ],
)
def test_plain_text_does_not_start_with_the_title(again):
    assert TITLE not in text_of(f"<h1>The Valley Post</h1><article>{again}{STORY}</article>")


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Watching distributed systems", "Google - Site Reliability Engineering"),
        ("About This Site", "Daring Mill: Colophon"),
        ("Grinding rye", "Handbook"),
    ],
)
def test_heading_not_contained_in_the_title_is_kept(heading, title):
    text = text_of(f"<article><h1>{heading}</h1>{STORY}</article>", title=title)

    assert text.startswith(heading)


def test_markdown_keeps_the_title():
    assert text_of(f"<article>{HEADING}{STORY}</article>", form="markdown").startswith(f"# {TITLE}")


def test_markdown_keeps_a_title_that_links_to_itself():
    """Regression: it became breadcrumbs in every other process, as titles came from a set."""
    name = "millwheel — A history of the wheels at the bend"
    heading = '<h1><a href="#module-millwheel"><code>millwheel</code></a> — A history of the wheels at the bend</h1>'

    text = text_of(heading + STORY, title=f"{name} — The Valley Post", form="markdown")

    assert text.startswith("# ")
    assert "A history of the wheels at the bend" in text.partition("\n")[0]


def test_titles_of_a_page_have_the_same_order_in_every_process():
    page = document.parse(
        b"<title>Wheels of larch: a list of wheels \xe2\x80\x94 Mill</title>",
        url="http://a.example/",
    )

    titles = opening.titles_of(page)

    assert titles == sorted(titles, key=lambda each: (-len(each), each))
