from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.traps.templates import (
    AGAIN,
    MAX_WORDS,
    MAX_WORDS_OF_PLACE,
    PathWords,
    series_of,
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

    assert one.section == other.section == "/shop?color=&size="
    assert set(one.marks) == {"?color=", "?size="}


def test_url_that_repeats_a_part_of_itself_is_marked():
    again = [f"{SITE}/a/b/a/b/", f"{SITE}/list?p=2&p=3", f"{SITE}/list?p=2&amp%3Bp=3"]

    assert all(AGAIN in templates_of(url, PathWords()).templates for url in again)
    assert AGAIN not in templates_of(f"{SITE}/2/2/a/b", PathWords()).templates


def test_hash_without_a_parameter_equals_the_hash_of_the_url_without_it():
    plain = templates_of(f"{SITE}/article/x", PathWords()).own
    printed = templates_of(f"{SITE}/article/x?print=1", PathWords())

    assert [part.without for part in printed.parts if not part.is_of_path] == [plain]


def test_path_in_the_query_is_folded_like_a_path():
    """Regression: each page of a gallery (`index.php?/category/7`) had a template of its own."""
    assert path("/index.php?/category/7") == "/index.php?/category/{n}"
    assert path("/index.php?/category/7&page=2") == "/index.php?/category/{n}?page="
    assert path("/picture.php?/100/category/7") == "/picture.php?/{n}/category/{n}"
    assert path("/view?a/b") == "/view?/a/b"
    assert path("/view?back=/a/b") == "/view?back="


def test_numbers_with_titles_of_any_length_are_one_template():
    """Regression: each tag of a gallery (`/tags/1-milk-churn-forgotten`) had its own template."""
    assert path("/tags/7-bridge") == "/tags/{n}-*"
    assert path("/tags/1-milk-churn-forgotten") == "/tags/{n}-*"
    assert path("/convert/282-fathoms-to-miles") == "/convert/{n}-*"
    assert path("/2024-03-01") == "/{n}"


def test_values_that_few_urls_have_tell_templates_apart():
    words = PathWords()
    found = [
        templates_of(f"{SITE}/index.php?action={action}&title=Old_bridge_{n}", words).finest
        for n in range(20)
        for action in ("edit", "history")
    ]

    assert set(found) == {"/index.php?action=edit&title=", "/index.php?action=history&title="}


def test_lists_of_values_are_told_from_single_ones():
    one, many = (templates_of(f"{SITE}/flows?tags={t}", PathWords()) for t in ("ai", "ai,csv"))

    assert one.section == "/flows?tags="
    assert many.section == "/flows?tags={list}"


def test_the_last_number_of_a_url_tells_its_place_in_a_series():
    one, other = series_of(f"{SITE}/list?id=7&page=2"), series_of(f"{SITE}/list?id=7&page=19")

    assert one[0] == other[0]
    assert (one[1], other[1]) == (2, 19)
    assert series_of(f"{SITE}/about")[1] is None


def test_a_path_behind_other_folders_is_one_of_the_parts():
    moved = templates_of(f"{SITE}/news/old/contact/", PathWords())

    assert f"{SITE}/contact/" in [part.url for part in moved.parts if part.is_of_path]


@given(st.lists(st.text(alphabet="abc/?&=-1", max_size=30), max_size=60))
def test_any_urls_have_templates_in_bounded_memory(texts):
    words = PathWords()

    for text in texts:
        assert templates_of(f"{SITE}/{text}", words).templates

    assert sum(map(len, words.words.values())) <= MAX_WORDS


def test_equal_folders_in_a_row_are_one_section_however_many():
    words = PathWords()
    urls = [f"https://www.example.org/tree/{'/'.join('abcdefghij'[:n])}" for n in (3, 6, 10)]

    assert {templates_of(url, words).section for url in urls} == {"/tree/*/*/*"}
    assert len({templates_of(url, words).finest for url in urls}) == 3
