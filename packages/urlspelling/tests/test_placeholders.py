"""Placeholders instead of a canonical URL, and real URLs that look like them."""

import pytest

from urlspelling import why_no_page

PAGE = "https://a.test/p/1"


@pytest.mark.parametrize(
    "text",
    [
        "undefined", " null ", "None", "NaN", "[object Object]", "/undefined", "https://a.test/undefined",
        "https://a.test/p/undefined/", "https://undefined/p/1", "/p?id=undefined", "/p/%5Bobject%20Object%5D",
        "{{ canonical }}", "{{canonical_url}}", "https://a.test/{{slug}}", "https://a.test/%7B%7Bslug%7D%7D",
        "https://a.test/${slug}", "https://a.test/$%7Bslug%7D", "/p/{slug}", "{% url 'p' %}", "<?php echo $url ?>",
        "<%= url %>", "<canonical>", "$REGULAR_HTML_URL", "%CANONICAL%", "/p/[slug]", "/[...slug]",
        "window.location.href", "https%3A%2F%2Fa.test%2Fp%2F1", "", "#", "#top", "url", "TODO",
        "a.test/p/1", "www.a.test/p/1", "A.test", "m.a.test/p/1", "a.test:8080/p/1", "www.other.test/p", "other.com/p/1",
        "/a.test/p/1", "https://a.test/shop/a.test/p/1",
    ],
)  # fmt: skip
def test_placeholder_is_recognized(text):
    assert why_no_page(text, PAGE)


@pytest.mark.parametrize(
    "text",
    [
        "https://a.test/p/2", "/p/2", "p/2", "../p", "?page=2", "//a.test/p/1", "index.html", "page.php?id=1",
        "https://www.bibliothek2null.de/2014/", "/wiki/Undefined_behavior", "/null-pointer", "/nullable",
        "/p/nonesuch", "https://a.test/p?q=a{b}", "/p?filter=[1]", "/p?params=%7B%22custom%22%3A1%7D",
        "readme.md", "read.me/first", "script.py", "/100%25-cotton", "/c%23/intro", "/?a=b", "v1.2/notes", "news.2024/p",
        "https://a.test:8080/p", "https://a.test/p/1?next=https://a.test/",
    ],
)  # fmt: skip
def test_possible_page_is_not_a_placeholder(text):
    assert why_no_page(text, PAGE) is None


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("/docs/Reference/Operators/null", "https://a.test/docs/Reference/Operators/null?x=1"),
        ("https://a.test/global/undefined", "https://a.test/global/undefined"),
        ("/web/a.test/p", "https://a.test/web/a.test/p?x=1"),
        ("https://a.test/%7B%7Bcite%7D%7D", "https://a.test/%7B%7Bcite%7D%7D"),
    ],
)
def test_word_that_is_part_of_the_page_url_is_not_a_placeholder(text, page):
    assert why_no_page(text, page) is None
