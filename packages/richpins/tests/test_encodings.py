"""The encoding of a page: byte order marks, headers, declarations, then detection from its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.document import parse
from richpins.encodings import labels, prescan
from richpins.encodings.detection import encoding

DECLARED = [
    (b'<meta charset="iso-8859-2">', "iso-8859-2"),
    (b"<meta charset=latin1>", "windows-1252"),
    (b"<META\nCHARSET = 'ShIfT_jIs' >", "shift_jis"),
    (b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
    (b'<meta content="text/html; charset=koi8-r" http-equiv=content-type>', "koi8-r"),
    (b"<meta content='text/html; charset=koi8-r'>", "windows-1252"),
    (b"<meta name=x content='a; charset=koi8-r' http-equiv=refresh>", "windows-1252"),
    (b"<metacharset=koi8-r>", "windows-1252"),
    (b"<!-- <meta charset=koi8-r> --><meta charset=euc-kr>", "euc-kr"),
    (b"<!--><meta charset=euc-kr>-->", "euc-kr"),
    (b'<p title="><meta charset=koi8-r>"><meta charset=big5>', "big5"),
    (b"<script><meta charset=big5></script>", "big5"),
    (b"<meta charset=utf-16>", "utf-8"),
    (b"<meta charset=utf-16be>", "utf-8"),
    (b"<meta charset=x-user-defined>", "windows-1252"),
    (b"<meta charset=bogus><meta charset=gbk>", "gbk"),
    (b"<meta charset=bogus charset=gbk>", "windows-1252"),
    (b"<meta charset=gbk", "windows-1252"),
    (b"<meta charset='gbk>", "windows-1252"),
    (b"</meta charset=gbk>", "windows-1252"),
    (b"<?php meta ?><meta charset=gbk>", "gbk"),
    (b"<meta content='charset charset = gbk' http-equiv=content-type>", "gbk"),
    (b"<meta content='charset=\"gbk' http-equiv=content-type>", "windows-1252"),
    (b'<?xml version="1.0" encoding="iso-8859-5"?><html>', "iso-8859-5"),
    (b"<html><head>", "windows-1252"),
    (b"", "windows-1252"),
    (b"<", "windows-1252"),
]


@pytest.mark.parametrize(("body", "name"), DECLARED)
def test_declared_encoding_is_used(body, name):
    assert encoding(body, None) == name


@pytest.mark.parametrize(
    ("mark", "name"),
    [(b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le")],
)
def test_byte_order_mark_overrides_the_header(mark, name):
    assert encoding(mark + b"<meta charset=gbk>", "text/html; charset=koi8-r") == name


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("text/html; charset=koi8-r", "koi8-r"),
        ('text/html;charset="Shift-JIS"', "shift_jis"),
        ("text/html; boundary=x; CHARSET=UTF8", "utf-8"),
        ("text/html; charset=bogus", "gbk"),
        ("text/html; mycharset=koi8-r", "gbk"),
        ("charset=koi8-r", "gbk"),
        ("", "gbk"),
        ('text/html; v="a;charset=koi8-r"', "gbk"),
        ('text/html; v="a;charset=koi8-r"; charset=big5', "big5"),
        ('text/html; v="a\\";charset=koi8-r"; charset="big5"; w=1', "big5"),
        ('text/html; v=a"b;charset=koi8-r";charset=big5', "big5"),
        ('text/html; charset="koi\\8-r"', "koi8-r"),
        ('text/html; charset="koi8-r', "koi8-r"),
        ("text/html; charset='koi8-r'", "koi8-r"),
        ("text/html; charset= koi8-r ; x", "koi8-r"),
        ("text/html; charset=; charset=koi8-r", "koi8-r"),
        ("text/html; charset; charset=koi8-r", "koi8-r"),
        ("text/html; charset=koi8-r; charset=big5", "koi8-r"),
        ("text/html; charset=bogus; charset=koi8-r", "gbk"),
        ("text/html;;;\tcharset=koi8-r;", "koi8-r"),
    ],
)
def test_header_with_a_known_encoding_overrides_the_page(header, name):
    assert encoding(b"<meta charset=gbk>", header) == name


def test_late_declaration_counts_if_the_parser_sees_it():
    padding = b"<!--" + b"x" * 5_000 + b"-->"

    assert encoding(padding + b"<meta charset=koi8-r>", None) == "koi8-r"
    assert encoding(padding + b"<title><meta charset=koi8-r></title>", None) == "windows-1252"


def test_declaration_written_by_a_script_counts():
    script = b"<script>document.write('<meta chars' + 'et=koi8-r>')</script>"

    assert encoding(script, None) == "koi8-r"


@pytest.mark.parametrize(
    ("name", "codec", "text"),
    [
        ("utf-8", "utf-8", "Der Käse für Frau Müller"),
        ("koi8-r", "koi8-r", "Добрый день, сегодня мы приготовим борщ"),
        ("shift_jis", "cp932", "日本語のページです。今日は良い天気ですね。"),
        ("euc-jp", "euc_jp", "日本語のページです。今日は良い天気ですね。"),
        ("euc-kr", "cp949", "한국어 페이지입니다. 오늘은 날씨가 좋습니다."),
        ("gbk", "gbk", "中文网页，今天的天气非常好，我们去公园散步吧。"),
        ("big5", "big5", "中文網頁，今天的天氣非常好，我們去公園散步吧。"),
        ("windows-1252", "cp1252", "café ouvert"),
    ],
)
def test_encoding_of_an_undeclared_page_is_detected(name, codec, text):
    assert encoding(text.encode(codec), "text/html") == name


def test_utf_8_cut_inside_a_character_is_still_utf_8():
    assert encoding("<p>naïve déjà vu €".encode()[:-1], None) == "utf-8"


SENTENCES = {
    "fr": "Le café est très bon, déjà vu à Noël",
    "ru": "Добрый день, сегодня мы приготовим борщ",
    "zh": "中文网页，今天的天气非常好，我们去公园散步吧。",
    "few": "une télé, un café crème",
}


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("spoiled", [b"\xc3", b"\xe4\xb8", b"\xe9", b"\xff"])
@pytest.mark.parametrize("at", ["start", "middle"])
def test_one_broken_character_does_not_change_the_encoding(language, spoiled, at):
    text = SENTENCES[language].encode()
    cut = {"start": 0, "middle": text.index(b" ") if b" " in text else 9}[at]
    body = b"<p>" + text[:cut] + spoiled + text[cut:] + b"</p>"

    assert encoding(body, None) == "utf-8"
    assert encoding(body + text * 1000, None) == "utf-8"


def test_broken_character_far_after_the_sample_does_not_change_the_encoding():
    body = ("é " * 200_000).encode() + b"\xc3 "

    assert encoding(body, None) == "utf-8"


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("cp1252", "Le café est très bon, déjà vu à Noël; « À côté »"),
        ("cp1251", "Съешь же ещё этих мягких французских булок — «Привет» №5"),
        ("koi8-r", "Съешь же ещё этих мягких французских булок, да выпей чаю"),
        ("cp1253", "Ταχίστη αλώπηξ βαφής ψημένη γη, δρασκελίζει υπέρ νωθρού κυνός"),
        ("cp874", "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน"),
        ("cp1256", "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر"),
        ("gb18030", "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。"),
        ("big5", "臺灣大學的學生今天去圖書館讀書，新聞首頁登入註冊會員"),
        ("cp932", "いろはにほへと ちりぬるを 今日は東京大学へ行きました。"),
        ("cp949", "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다."),
    ],
)
def test_text_in_a_legacy_encoding_is_not_mistaken_for_utf_8(codec, text):
    assert encoding(text.encode(codec), None) != "utf-8"


def test_declared_encoding_loses_to_utf_8_with_one_broken_character():
    body = "<meta charset=iso-8859-1>" + "déjà vu à Noël " * 20

    assert encoding(body.encode() + b"\xc3 .", None) == "utf-8"
    assert encoding(body.encode("latin-1") + "é".encode(), None) == "windows-1252"


def test_every_encoding_can_be_decoded():
    names = set(labels._NAMES.values())

    assert len(names) == 40
    for name in names:
        labels.decode(b"<p>plain</p>\x81\xff", name)


def test_labels_ignore_case_and_surrounding_whitespace():
    assert labels.find_encoding(" \tUTF8\n") == "utf-8"
    assert labels.find_encoding("utf-7") is None
    assert labels.find_encoding("iso-2022-kr") == "replacement"


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("Café crème", "iso-8859-1"),
        ("Привет, мир", "windows-1251"),
        ("日本語のページです", "shift_jis"),
        ("联通的网页在这里", "gb2312"),
    ],
)
def test_utf_8_declared_as_another_encoding_is_decoded_as_utf_8(text, declared):
    body = f"<meta charset={declared}><title>{text}</title>".encode()

    assert parse(body, url="https://a.test/").title == text
    assert encoding(text.encode(), f"text/html; charset={declared}") == "utf-8"


@pytest.mark.parametrize(
    ("text", "codec", "declared"),
    [
        ("联通", "gbk", "gbk"),  # also valid UTF-8, by chance
        ("Café", "latin-1", "windows-1252"),
        ("Привет", "cp1251", "windows-1251"),
        ("これは日本語", "cp932", "shift_jis"),
    ],
)
def test_text_in_its_declared_encoding_is_not_mistaken_for_utf_8(text, codec, declared):
    assert encoding(text.encode(codec), f"text/html; charset={declared}") == declared


def test_encoding_that_can_hide_markup_is_not_decoded():
    page = parse(
        b"<title>~{<script>~}", url="https://a.test/", content_type="x/y; charset=hz-gb-2312"
    )

    assert page.title is None
    assert any("hide markup" in problem for problem in page.problems)


def test_undefined_windows_1252_bytes_become_control_characters():
    assert labels.decode(b"a\x81b", "windows-1252") == "a\x81b"


@given(st.binary(max_size=3_000), st.none() | st.text(max_size=60))
def test_any_bytes_have_a_known_encoding(body, header):
    assert encoding(body, header) in set(labels._NAMES.values())


@given(
    st.lists(
        st.sampled_from(
            [
                b"<meta ",
                b"charset",
                b"=",
                b"'",
                b'"',
                b">",
                b" ",
                b"gbk",
                b"<!--",
                b"-->",
                b"</",
                b"<a",
                b"/",
                b"content",
                b"http-equiv",
                b"content-type",
            ]
        ),
        max_size=40,
    )
)
def test_prescan_ends_on_any_markup(pieces):
    assert prescan.from_bytes(b"".join(pieces)) in {None, "gbk"}


@pytest.mark.parametrize("name", sorted(set(labels._NAMES.values()) - {"replacement"}))
def test_every_encoding_can_encode_any_character(name):
    assert labels.encode("a", name) == b"a"
    assert labels.encode("é\u2603\ud800\U0001f600\x81", name)
