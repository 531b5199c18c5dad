from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.traps.templates import (
    AGAIN,
    MAX_WORDS,
    MAX_WORDS_OF_PLACE,
    PathWords,
    templates_of,
)

SITE = "https://www.example.org"


def path(url):
    return templates_of(SITE + url, PathWords()).templates[0]


def test_numbers_dates_versions_and_ids_are_replaced():
    assert path("/calendar/2026/11/") == "/calendar/{n}/{n}/"
    assert path("/daily/2025-01-31") == "/daily/{n}"
    assert path("/en/1.8/guide.html") == "/en/{n}/guide.html"
    assert path("/file-12.html") == "/file-{n}.html"
    assert path("/s/4f9ab2c1d0e8/list") == "/s/{id}/list"


def test_titles_in_paths_are_replaced_and_words_kept():
    assert path("/news/the-old-bridge-of-corvale/") == "/news/*/"
    assert path("/news/archive/") == "/news/archive/"


def test_words_at_a_position_with_many_are_replaced():
    words = PathWords()

    found = [
        templates_of(f"{SITE}/define/{chr(97 + at % 26) * (at // 26 + 1)}", words).templates[0]
        for at in range(100)
    ]

    assert len(set(found[:MAX_WORDS_OF_PLACE])) == MAX_WORDS_OF_PLACE
    assert set(found[MAX_WORDS_OF_PLACE:]) == {"/define/*"}


def test_each_query_parameter_is_a_template_in_any_order():
    one = templates_of(f"{SITE}/shop?color=red&size=42", PathWords())
    other = templates_of(f"{SITE}/shop?size=36&color=blue", PathWords())

    assert set(one.templates) == set(other.templates)
    assert set(one.templates) == {"/shop?color=&size=", "?color=", "?size="}


def test_url_that_repeats_a_part_of_itself_is_marked():
    again = [f"{SITE}/a/b/a/b/", f"{SITE}/list?p=2&p=3", f"{SITE}/list?p=2&amp%3Bp=3"]

    assert all(AGAIN in templates_of(url, PathWords()).templates for url in again)
    assert AGAIN not in templates_of(f"{SITE}/2/2/a/b", PathWords()).templates


def test_hash_without_a_parameter_equals_the_hash_of_the_url_without_it():
    plain = templates_of(f"{SITE}/article/x", PathWords()).own
    printed = templates_of(f"{SITE}/article/x?print=1", PathWords())

    assert [part.without for part in printed.parts] == [plain]


@given(st.lists(st.text(alphabet="abc/?&=-1", max_size=30), max_size=60))
def test_any_urls_have_templates_in_bounded_memory(texts):
    words = PathWords()

    for text in texts:
        assert templates_of(f"{SITE}/{text}", words).templates

    assert sum(map(len, words.words.values())) <= MAX_WORDS
