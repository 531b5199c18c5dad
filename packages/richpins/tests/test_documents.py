"""Title, language and text of plain text and PDF.

documents/chromium_german.pdf was printed by Chromium from a page written for this test; the others
are built here, object by object.
"""

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins import compared_text, documents, extraction, read
from richpins.documents import MAX_CHARS
from richpins.links import extract

PRINTED = (Path(__file__).parent / "documents" / "chromium_german.pdf").read_bytes()
ENGLISH = (
    "The forests in the north grow slowly, because the soil there is sandy and the summers are "
    "cool. In the south it rains more, and the trees grow taller every year."
)


def pdf(*texts, catalog="", info="", stream=None):
    """A PDF with one page per text."""
    pages = [4 + 2 * n for n in range(len(texts))]
    objects = {
        1: f"<</Type/Catalog/Pages 2 0 R{catalog}>>".encode(),
        2: f"<</Type/Pages/Count {len(texts)}/Kids[{' '.join(f'{n} 0 R' for n in pages)}]>>".encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    }
    for number, text in zip(pages, texts, strict=True):
        lines = " 0 -14 Td ".join(f"({line}) Tj" for line in text.split("\n"))
        content = stream or zlib.compress(f"BT /F 12 Tf 72 720 Td {lines} ET".encode("cp1252"))
        objects[number] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {number + 1} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>"
        ).encode()
        objects[number + 1] = (
            f"<</Length {len(content)}/Filter/FlateDecode>>\nstream\n".encode()
            + content
            + b"\nendstream"
        )
    objects[max(objects) + 1] = f"<<{info}>>".encode("cp1252")
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in sorted(objects.items()):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, size = len(out), len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<</Size %d/Root 1 0 R/Info %d 0 R>>\n" % (size, size - 1)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def parse_pdf(body):
    return documents.parse(body, url="http://a.test/x.pdf", content_type="application/pdf")


def parse_text(body, content_type="text/plain; charset=utf-8"):
    return documents.parse(body, url="http://a.test/x.txt", content_type=content_type)


def test_printed_page_has_its_title_language_and_text():
    page = parse_pdf(PRINTED)

    assert page.title == "Bericht über die Wälder"
    assert page.language in ("de", "de-DE")
    assert "weil der Boden dort sandig ist" in " ".join(page.text.split())
    assert "Zweite Seite: Die Zahlen stammen aus dem Jahr 2025." in page.text
    assert page.problems == ()


def test_declared_title_and_language_come_first():
    page = parse_pdf(pdf(ENGLISH, catalog="/Lang(en-GB)", info="/Title(Forests of the north)"))

    assert (page.title, page.language) == ("Forests of the north", "en-GB")
    assert page.text == ENGLISH


@pytest.mark.parametrize("title", ["Microsoft Word - report.doc", "untitled", "x.indd", " ", "1"])
def test_title_generated_by_a_program_is_replaced_by_the_first_line(title):
    page = parse_pdf(pdf(f"Forests of the north\n{ENGLISH}", info=f"/Title({title})"))

    assert page.title == ("1" if title == "1" else "Forests of the north")
    assert page.language == "en"


def test_pages_are_separated_by_empty_lines():
    assert parse_pdf(pdf("One", "Two")).text == "One\n\nTwo"


def test_pdf_without_a_content_type_is_recognized():
    bare = documents.parse(pdf("One"), url="http://a.test/")
    page = documents.parse(b"<title>T</title><p>x", url="http://a.test/", content_type="text/html")

    assert bare.text == "One"
    assert (page.title, page.text) == ("T", None)


def test_plain_text_has_title_language_and_text():
    page = parse_text(f"\ufeffForests\r\n\r\n\r\n\r\n{ENGLISH}  \r\n\x07".encode())

    assert (page.title, page.language) == ("Forests", "en")
    assert page.text == f"Forests\n\n{ENGLISH}"
    assert (
        read(page.text.encode(), url="http://a.test/", content_type="text/plain").text == page.text
    )


def test_plain_text_is_decoded_in_its_encoding():
    text = "Die Wälder im Süden wachsen schnell, und die Bäume werden größer, weil es mehr regnet."

    assert parse_text(text.encode("cp1252"), "text/plain").text == text
    assert parse_text(text.encode("utf-16-le"), "text/plain; charset=utf-16le").text == text
    assert parse_text(text.encode("cp1252"), "text/plain").language == "de"


@pytest.mark.parametrize("text", ["", "12.5 13.9", "a b", "id,name\n1,2\n3,4\n5,6\n7,8\n" * 30])
def test_numbers_or_a_few_words_have_no_language(text):
    assert parse_text(text.encode()).language is None


def test_markup_in_plain_text_is_ignored():
    hostile = (
        '</pre><title>X</title><meta name=robots content=noindex><a href="http://b.test/">b</a>'
        '<script type="application/ld+json">{"@type":"Product","name":"P"}</script>'
    )
    page = parse_text(hostile.encode())
    titled = parse_pdf(pdf(ENGLISH, info="/Title(</title><meta name=robots content=noindex>)"))

    assert extract(page) == ()
    assert extraction.extract_from(page).type == "page"
    assert page.text == hostile
    assert not page.robots.noindex
    assert not titled.robots.noindex
    assert titled.title == "</title><meta name=robots content=noindex>"


def test_other_types_have_no_text():
    page = documents.parse(b'{"a": 1}', url="http://a.test/", content_type="application/json")

    assert (page.title, page.text, page.problems) == (None, None, ())
    assert not documents.is_read("application/json")
    assert documents.is_read("application/pdf; x=y")


def test_documents_with_the_same_text_are_near_duplicates():
    long = " ".join(f"{ENGLISH} {n}" for n in range(40))

    assert compared_text.sketch(parse_text(long.encode())) == compared_text.sketch(
        parse_text(f"{long}\n".encode())
    )


def test_decompression_bomb_is_cut_before_it_fills_the_memory():
    stream = zlib.compress(zlib.compress(b"\0" * 300_000_000), 9)
    page = parse_pdf(
        pdf("x", stream=stream).replace(b"/FlateDecode", b"[/FlateDecode/FlateDecode]")
    )

    assert page.text == ""
    assert page.problems == ("PDF: pages that cannot be read: 1",)


def test_long_text_is_cut():
    page = parse_text(b"word " * (MAX_CHARS // 5 + 10))

    assert len(page.text) <= MAX_CHARS
    assert page.problems == (f"the text ends after {MAX_CHARS} characters",)


@pytest.mark.parametrize(
    "body",
    [b"", b"%PDF-1.7", PRINTED[:5000], PRINTED[2000:], pdf("x").replace(b"/Kids[4 0 R]", b"/Kids[2 0 R]"),
     pdf("x").replace(b"/Type/Page/", b"/Type/Pages/")],
)  # fmt: skip
def test_damaged_pdf_has_problems_or_less_text(body):
    page = parse_pdf(body)

    assert page.text is not None
    assert page.problems or page.title is None or page.text


@given(st.integers(0, len(PRINTED)), st.binary(min_size=1, max_size=40))
def test_no_bytes_raise(at, inserted):
    assert parse_pdf(PRINTED[:at] + inserted + PRINTED[at + len(inserted) :]).text is not None


def test_encrypted_pdf_is_reported():
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(
        clone_from=PdfReader(Path(__file__).parent / "documents/chromium_german.pdf")
    )
    writer.encrypt("secret", algorithm="RC4-128")
    import io

    out = io.BytesIO()
    writer.write(out)

    page = parse_pdf(out.getvalue())

    assert page.text == ""
    assert page.problems == ("PDF: it is encrypted",)
