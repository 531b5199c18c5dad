"""Tags that would slow down the parser are found without scanning every tag."""

import random

from richpins import _long_tags as long_tags
from richpins._long_tags import MAX_TAG_BYTES, TOKEN, has_slow_tag

MANY = b" ".join(b"a%d=1" % number for number in range(18_000))
"""140 KB of attributes."""
PIECES = {
    b"c " * 4_000: 8, b" d" * 2_000: 8, b" x=1" * 300: 8, b"a" * 900: 4, b"b " * 200: 4,
    b'="': 6, b'"': 6, b"'": 6, b"='": 6, b"= '": 6, b"=": 4, b"  ": 4,
    b"v" * 3_000 + b">" + b"v" * 9_000: 3, b"<a ": 4, b"<b>": 1, b">": 2,
}  # fmt: skip
"""Parts of bodies, each with its weight."""


def max_attribute_bytes(body: bytes) -> int:
    """The size of the largest tag, without its quoted values."""
    tags = (match[1] for match in TOKEN.finditer(body) if match[1])
    return max((len(long_tags._VALUE.sub(b"=", tag)) for tag in tags), default=0)


def test_sampling_finds_every_tag_with_many_attributes():
    random.seed(7)
    bodies = [b"".join(random.choices([*PIECES], [*PIECES.values()], k=150)) for _ in range(200)]
    long = [body for body in bodies if max_attribute_bytes(body) > MAX_TAG_BYTES]

    assert len(long) > 10
    assert all(map(long_tags._may_have_long_tag, long))


def test_attributes_after_quoted_closing_brackets_are_found():
    hidden = b"<p " + MANY.replace(b" a6000=1 ", b' x=">" ').replace(b" a12000=1 ", b' y=">" ')
    page = b"<p>text</p>" * 30_000

    assert has_slow_tag(page + hidden + b">" + page)
    assert not has_slow_tag(page + page)


def test_ordinary_pages_need_no_exact_search():
    page = b"<html><body>" + b'<div class="a b"><a href="/x?y=z">text</a> 5 > 4</div>\n' * 8_000

    assert not long_tags._may_have_long_tag(page)
