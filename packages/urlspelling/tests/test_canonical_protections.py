"""Declared canonical URLs that are not believed: other sites, homepages, chains, translations."""

import pytest
from decisions import HOMEPAGE, OTHER_PAGE, OTHER_SITE, PAGE, decision_for, reason_for, redirect

from urlspelling.canonical import KnownPage

# Protections.


def test_homepage_is_not_accepted_as_canonical_for_an_inner_page():
    decision = decision_for(link_canonical=(HOMEPAGE,), og_url=HOMEPAGE)

    assert (decision.canonical_url, decision.rule) == (PAGE, "self")
    assert "homepage" in reason_for(decision, HOMEPAGE)


@pytest.mark.parametrize(
    "page", ["index.html", "default.aspx", "en/", "fr-CA", "?source=mail", "home"]
)
def test_homepage_is_canonical_for_its_own_spellings(page):
    assert decision_for(HOMEPAGE + page, link_canonical=(HOMEPAGE,)).canonical_url == HOMEPAGE


def test_canonical_on_another_domain_is_not_trusted():
    decision = decision_for(link_canonical=(OTHER_SITE,))

    assert decision.canonical_url == PAGE
    assert "another domain" in reason_for(decision, OTHER_SITE)


def test_another_host_of_the_same_site_is_not_another_domain():
    assert (
        decision_for("https://m.shop.example/shoes", link_canonical=(OTHER_PAGE,)).canonical_url
        == OTHER_PAGE
    )


def test_two_sites_on_one_hosting_service_are_different_domains():
    decision = decision_for("https://a.github.io/x", link_canonical=("https://b.github.io/x",))

    assert decision.canonical_url == "https://a.github.io/x"


def test_canonical_that_redirects_here_is_not_followed_back():
    decision = decision_for(
        OTHER_PAGE, redirects=(redirect(OTHER_PAGE, PAGE),), link_canonical=(OTHER_PAGE,)
    )

    assert decision.canonical_url == PAGE
    assert "redirects permanently to this page" in reason_for(decision, OTHER_PAGE)


def test_canonical_known_to_redirect_here_is_not_followed_back():
    decision = decision_for(
        link_canonical=(OTHER_PAGE,), known={OTHER_PAGE: KnownPage(status=301, redirects_to=PAGE)}
    )

    assert decision.canonical_url == PAGE
    assert "redirects back" in reason_for(decision, OTHER_PAGE)


@pytest.mark.parametrize(
    "page",
    [KnownPage(status=404), KnownPage(status=410), KnownPage(gone=True), KnownPage(status=418)],
)
def test_canonical_known_to_be_gone_is_ignored(page):
    decision = decision_for(link_canonical=(OTHER_PAGE,), known={OTHER_PAGE: page})

    assert decision.canonical_url == PAGE
    assert "gone" in reason_for(decision, OTHER_PAGE)


@pytest.mark.parametrize("status", [401, 402, 403, 429, 451, 500, 503])
def test_canonical_that_was_busy_or_blocked_is_provisional(status):
    decision = decision_for(
        link_canonical=(OTHER_PAGE,), known={OTHER_PAGE: KnownPage(status=status)}
    )

    assert (decision.canonical_url, decision.provisional) == (OTHER_PAGE, True)


@pytest.mark.parametrize("own", [None, OTHER_PAGE])
def test_fetched_and_agreeing_canonical_is_final(own):
    decision = decision_for(
        link_canonical=(OTHER_PAGE,), known={OTHER_PAGE: KnownPage(status=200, canonical_url=own)}
    )

    assert (decision.canonical_url, decision.provisional) == (OTHER_PAGE, False)


def test_chain_of_canonicals_is_followed_to_its_end():
    end = "https://shop.example/all-shoes"
    known = {OTHER_PAGE: KnownPage(status=200, canonical_url=end), end: KnownPage(status=200)}

    decision = decision_for(link_canonical=(OTHER_PAGE,), known=known)

    assert (decision.canonical_url, decision.provisional) == (end, False)
    assert f"{OTHER_PAGE} leads on to {end}" in decision.reasons


def test_chain_that_ends_at_an_unknown_page_is_provisional():
    end = "https://shop.example/all-shoes"

    assert decision_for(
        link_canonical=(OTHER_PAGE,), known={OTHER_PAGE: KnownPage(status=200, canonical_url=end)}
    ).provisional


def test_chain_that_leaves_the_site_is_rejected_as_a_whole():
    decision = decision_for(
        link_canonical=(OTHER_PAGE,),
        known={OTHER_PAGE: KnownPage(status=301, redirects_to=OTHER_SITE)},
    )

    assert decision.canonical_url == PAGE


def test_two_pages_that_name_each_other_keep_their_own_urls():
    decision = decision_for(
        link_canonical=(OTHER_PAGE,), known={OTHER_PAGE: KnownPage(status=200, canonical_url=PAGE)}
    )

    assert decision.canonical_url == PAGE
    assert "points back" in reason_for(decision, OTHER_PAGE)


def test_loop_of_other_pages_is_ignored():
    third = "https://shop.example/boots"
    known = {
        OTHER_PAGE: KnownPage(status=200, canonical_url=third),
        third: KnownPage(status=200, canonical_url=OTHER_PAGE),
    }

    decision = decision_for(link_canonical=(OTHER_PAGE,), known=known)

    assert decision.canonical_url == PAGE
    assert "loop" in reason_for(decision, OTHER_PAGE)


def test_endless_chain_is_abandoned():
    known = {
        f"https://shop.example/{n}": KnownPage(
            status=301, redirects_to=f"https://shop.example/{n + 1}"
        )
        for n in range(99)
    }

    decision = decision_for(link_canonical=("https://shop.example/0",), known=known)

    assert decision.canonical_url == PAGE


def test_old_http_canonical_does_not_downgrade_an_https_page():
    old = PAGE.replace("https:", "http:")

    assert decision_for(link_canonical=(old,)).canonical_url == PAGE


def test_http_and_www_variants_follow_the_canonical_link():
    assert (
        decision_for(
            "http://shop.example/a", link_canonical=("https://www.shop.example/a",)
        ).canonical_url
        == "https://www.shop.example/a"
    )


# AMP and languages.


def test_amp_page_follows_its_original():
    amp = "https://shop.example/amp/shoes"

    assert decision_for(amp, is_amp=True, link_canonical=(OTHER_PAGE,)).canonical_url == OTHER_PAGE


def test_page_does_not_follow_its_own_amp_version():
    amp = "https://shop.example/amp/shoes"

    assert decision_for(OTHER_PAGE, amp_url=amp, link_canonical=(amp,)).canonical_url == OTHER_PAGE


def test_copy_in_an_amp_cache_belongs_to_its_original_site():
    copy = "https://shop-example.cdn.ampproject.org/c/s/shop.example/amp/shoes"

    assert decision_for(copy, is_amp=True, link_canonical=(OTHER_PAGE,)).canonical_url == OTHER_PAGE
    assert decision_for(copy, is_amp=True, link_canonical=(OTHER_SITE,)).canonical_url == copy


def test_translation_is_a_separate_page():
    german = "https://shop.example/de/schuhe"

    decision = decision_for(
        german,
        link_canonical=(OTHER_PAGE,),
        hreflang=(("de", german), ("en", OTHER_PAGE), ("x-default", OTHER_PAGE)),
    )

    assert decision.canonical_url == german
    assert "en" in reason_for(decision, OTHER_PAGE)


def test_variant_that_lists_only_the_originals_follows_its_canonical():
    german = "https://shop.example/de/schuhe"
    variant = f"{german}?size=42"

    decision = decision_for(
        variant, link_canonical=(german,), hreflang=(("de", german), ("en", OTHER_PAGE))
    )

    assert decision.canonical_url == german
