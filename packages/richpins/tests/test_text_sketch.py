"""Sketches of texts: near duplicates, limits, and scripts without spaces."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins import compared_text, document
from richpins.text_sketch import (
    _LETTER_OR_WORD,
    _MIN_PREFERRED_PAIRS,
    _PREFERRED_PAIR,
    MIN_WORDS,
    _split_words,
    are_near_same,
    similarity,
    sketch_of,
)

WORDS = [f"word{n}" for n in range(2_000)]


def text(count, seed=0):
    return random.Random(seed).choices(WORDS, k=count)


def dice(one, other):
    pairs = [set(pairwise(words)) for words in (one, other)]
    return 2 * len(pairs[0] & pairs[1]) / (len(pairs[0]) + len(pairs[1]))


@pytest.mark.parametrize("changed", [0, 2, 10, 40, 120, 400])
def test_sketch_estimates_the_share_of_common_word_pairs(changed):
    errors = []
    for seed in range(20):
        one = text(400, seed)
        other = [*one]
        for at in random.Random(seed).sample(range(400), changed):
            other[at] = f"new{at}"
        estimate = similarity(sketch_of(" ".join(one)), sketch_of(" ".join(other)))
        errors.append(estimate - dice(one, other))
    assert abs(sum(errors) / len(errors)) < 0.05
    assert max(map(abs, errors)) < 0.25


def test_small_change_keeps_texts_near_duplicates():
    one = text(300)
    other = [*one[:150], "17", "views", *one[150:]]

    assert are_near_same(sketch_of(" ".join(one)), sketch_of(" ".join(other)))
    assert not are_near_same(sketch_of(" ".join(one)), sketch_of(" ".join(text(300, 1))))


def test_short_text_has_no_sketch_and_matches_nothing():
    short, enough = text(MIN_WORDS - 1), text(MIN_WORDS)

    assert sketch_of(" ".join(short)) == ""
    assert len(sketch_of(" ".join(enough))) == 88
    assert not are_near_same("", "")
    assert not are_near_same("", sketch_of(" ".join(enough)))


def test_characters_count_as_words_in_scripts_without_spaces():
    one = "".join(chr(0x4E00 + n * 37 % 3000) for n in range(300))
    other = one[:150] + "新" + one[151:]

    assert are_near_same(sketch_of(one), sketch_of(other))
    assert not are_near_same(
        sketch_of(one), sketch_of("".join(chr(0x5E00 + n) for n in range(300)))
    )


def test_long_text_takes_bounded_time():
    started = time.process_time()
    sketch_of("a b c " * 2_000_000)
    sketch_of("一丁" * 2_000_000)
    assert time.process_time() - started < 1


def page(markup):
    return document.parse(markup.encode(), url="http://a.test/", content_type="text/html")


def test_navigation_scripts_and_forms_are_ignored_but_not_links():
    shown = compared_text.compared_text(
        page(
            "<title>Lamps</title><header>h1</header><nav>n1</nav><script>s1</script><div>"
            "<a href=/1>Brass lamp</a><form>f1</form></div><footer>f2</footer>"
        )
    )

    assert shown.split() == ["Lamps", "Brass", "lamp"]


def test_parsed_page_is_not_changed():
    one = page("<nav>menu</nav><main>text</main>")

    compared_text.sketch(one)

    assert one.tree.css_first("nav").text() == "menu"


@given(st.text(alphabet="abzäжü_-'1 \n\u2019中กé·\u00a0«"))
def test_fast_path_finds_the_same_words_as_the_expression(text):
    assert [word.decode() for word in _split_words(text)] == _LETTER_OR_WORD.findall(text)


@pytest.mark.parametrize("count", [920, 960])
def test_sampled_text_matches_a_shorter_unsampled_one(count):
    one = [f"{'abcdefghij'[int(word[4:]) % 10]}{word}" for word in text(count)]
    firsts = len(_PREFERRED_PAIR.findall(" ".join(["", *one]).encode()))
    shorter = one[: int(0.95 * count)]

    assert firsts >= _MIN_PREFERRED_PAIRS
    assert similarity(sketch_of(" ".join(one)), sketch_of(" ".join(shorter))) > 0.93


@pytest.mark.parametrize("words", [["слово", "другое"], ["ord", "anden"], ["كلمة", "أخرى"]])
def test_words_in_any_alphabet_give_comparable_sketches(words):
    one = [f"{random.Random(n).choice(words)}{n % 700}" for n in range(2_000)]
    other = [*one[:900], "17", *one[900:]]

    assert are_near_same(sketch_of(" ".join(one)), sketch_of(" ".join(other)))
    assert not are_near_same(sketch_of(" ".join(one)), sketch_of(" ".join(one[1_000:])))


def test_ignored_element_hides_the_elements_inside_it():
    shown = compared_text.compared_text(
        page(
            "<body>Copy 1 <form>Copy <button>Copy</button> <select><option>2</select></form> 2 Copy"
            "<button>Copy</button> 3</body>"
        )
    )

    assert sorted(shown.split()) == ["1", "2", "3", "Copy", "Copy"]


def test_text_counts_if_a_form_is_around_the_whole_page():
    shown = compared_text.compared_text(
        page(
            "<body><form><nav>menu</nav><h1>Oak chest</h1><p>made in 1702 by a joiner"
            "<button>Print</button></form><form>Search</form></body>"
        )
    )

    assert "Oak chest made in 1702 by a joiner" in " ".join(shown.split())
    assert "menu" not in shown
    assert "Print" not in shown


def test_main_text_counts_if_a_form_contains_the_whole_page():
    shown = compared_text.compared_text(
        page("<body><form><nav>menu</nav><main>text <button>Send</button></main></form></body>")
    )

    assert shown.split() == ["text"]
