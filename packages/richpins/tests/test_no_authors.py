"""Texts in place of an author's name that are not names."""

from __future__ import annotations

import pytest
from pins import ld, pin

from richpins.extraction import extract
from richpins.page_facts.no_authors import is_placeholder_author

NO_AUTHORS = [
    "著者一覧", "執筆者一覧", "著者プロフィール", "作者简介", "記者", "もっと見る", "View Full Bio",
    "View full bio »", "Full Bio", "See all posts", "More by this author", "About the Author",
    "Meet the team", "Author archive", "View all posts by Ann Lee", "Articles by Ann Lee", "Author",
    "Unknown author", "Read more", "Alle Artikel von Ann Lee", "Zum Profil", "Über den Autor",
    "Voir tous les articles", "Ver perfil", "Tutti gli articoli", "Over de auteur",
    "Все статьи автора", "Об авторе", "기사 더보기", "Ann Lee, Berlin, Germany", "name, city, country",
    "admin", "Administrator", "wp-admin", "webmaster", "Staff", "Staff Writer", "user1", "{{author}}",
    "{{ post.author.name }}", "${author}", "%author%", "[author]", "{% author %}", "<%= author %>",
    "Ann Lee, Fargo, North Dakota", "Ann Lee, New York, U.S.A.", "Ann Lee, Toronto, Ontario, Canada",
]  # fmt: skip
AUTHORS = [
    "Ann Lee", "Ann Lee, Bob Ray, Cid Fox", "Ann Lee, Bob Ray and Chad", "Lee, Jordan", "Author Jones",
    "Viewsonic", "Bea Moore", "Morena Allen", "Georgia", "Ann Lee, Germany", "著者太郎", "Авторханов",
    "Ann Lee, MD", "Berlin, Irving", "Alle Meier", "Se-ri Park", "Reading Eagle",
    "Reuters Staff", "Admina Lee", "Olga Root", "Stafford", "Editorial team", "Guest Lee", "Profile Books",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_AUTHORS)
def test_link_texts_headings_and_signatures_are_not_authors(text):
    assert is_placeholder_author(text)
    assert pin(ld({"@type": "Article", "headline": "A", "author": text})).authors == ()


@pytest.mark.parametrize("text", AUTHORS)
def test_name_is_an_author(text):
    assert not is_placeholder_author(text)


@pytest.mark.parametrize("text", ["著者一覧", "View Full Bio", "Alle Artikel"])
def test_byline_without_a_name_gives_no_author(text):
    body = f"<title>A</title><article><h1>A</h1><a class=author href=/authors>{text}</a></article>"

    assert extract(body.encode(), "https://a.test/a").authors == ()


def test_name_after_such_a_text_is_the_author():
    page = pin(ld({"@type": "Article", "headline": "A", "author": ["View Full Bio", "Ann Lee"]}))

    assert page.authors == ("Ann Lee",)
