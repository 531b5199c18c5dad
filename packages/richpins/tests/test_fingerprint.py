"""Fingerprints match their specification, and similar texts have close fingerprints."""

import random
import re
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins import read
from richpins.fingerprint import BITS, distance, fingerprint_of
from richpins.text_sketch import sketch_of

WORDS = [f"word{n}" for n in range(2_000)]
SEPARATORS = "\u00a0\u00a7\u00a9\u00ab\u00b6\u00b7\u00bb\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2192"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff"


def specified_fingerprint(text):
    """The fingerprint according to the module's docstring, without using its code."""
    text = text[:40_000].lower()
    for mark in SEPARATORS:
        text = text.replace(mark, " ")
    text = re.sub(r"[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]", " ", text)
    words = text.encode("utf-8", "replace").decode().split(" ")
    words = [word for word in words if word]
    if any(c.encode("utf-8")[0] in (0xE0, 0xE1, *range(0xE3, 0xEA)) for c in "".join(words)):
        parts = []
        for word in words:
            parts += [word] if word.isascii() else re.findall(rf"[{UNSPACED}]|\w+", word)
        words = parts
    words = [word.encode() for word in words[:5_000]]
    if len(words) < 30:
        return ""
    first, at = [], 0
    while at < len(words) - 1:
        if is_preferred(words[at]):
            first.append(words[at] + b" " + words[at + 1])
            at += 1
        at += 1
    bins = min_hash_per_bin(first)
    if len(first) < 256:
        bins = {**min_hash_per_bin(one + b" " + other for one, other in pairwise(words)), **bins}
    bits = "".join(str(int(n in bins and (bins[n] >> 6) % 255 % 2 == 0)) for n in range(64))
    return f"{int(bits, 2):016x}"


def is_preferred(word):
    if word[:1] in {b"bcdfkmpv13579"[n : n + 1] for n in range(13)}:
        return True
    if 0xC2 <= word[0] <= 0xDF:
        return 0x80 <= word[1] <= 0x97
    return 0xE0 <= word[0] <= 0xEF and 0x80 <= word[2] <= 0x97


def min_hash_per_bin(pairs):
    bins = {}
    for code in map(crc32, pairs):
        bins[code & 63] = min(code, bins.get(code & 63, code))
    return bins


@given(st.lists(st.sampled_from(["the", "Berry", "corn", "x_1", "9", "été", "ÄPFEL", "日本語", "мир",
                                 "don’t", "a–b", "ไทย", "abc日本", "…"]),
                min_size=20, max_size=700))  # fmt: skip
def test_specification_is_complete(words):
    text = " ".join(words)

    assert fingerprint_of(sketch_of(text)) == specified_fingerprint(text)


def test_fingerprints_do_not_change_between_versions():
    text = " ".join(WORDS[:300])

    assert fingerprint_of(sketch_of(text)) == specified_fingerprint(text) == "430739678224c65e"


def test_short_text_has_no_fingerprint():
    assert fingerprint_of(sketch_of("a few words")) == fingerprint_of("") == ""


def test_page_has_the_fingerprint_of_its_text():
    body = f"<title>t</title><nav>menu</nav><main>{' '.join(WORDS[:100])}</main>".encode()

    page = read(body, url="http://a.test/", content_type="text/html")

    assert page.fingerprint == fingerprint_of(sketch_of("t " + " ".join(WORDS[:100])))


@pytest.mark.parametrize(("changed", "max_distance"), [(0, 0), (2, 3), (100, 32)])
def test_distance_grows_with_the_changes(changed, max_distance):
    far = 0
    for seed in range(50):
        chance = random.Random(seed)
        one = chance.choices(WORDS, k=400)
        other = list(one)
        for at in chance.sample(range(400), changed):
            other[at] = f"other{at}"
        bits = distance(*(fingerprint_of(sketch_of(" ".join(each))) for each in (one, other)))
        far += bits > max_distance

    assert far <= 3


def test_unrelated_texts_are_far_apart():
    prints = [
        fingerprint_of(sketch_of(" ".join(random.Random(seed).choices(WORDS, k=300))))
        for seed in range(100)
    ]

    distances = [distance(one, other) for one, other in pairwise(prints)]
    assert min(distances) > 10
    assert 28 < sum(distances) / len(distances) < 36


@pytest.mark.parametrize("other", ["", "xyz", "0" * 15, "G" * 16])
def test_invalid_fingerprint_has_no_distance(other):
    assert distance("0" * 16, other) is None
    assert distance("0" * 16, "f" * 16) == BITS
