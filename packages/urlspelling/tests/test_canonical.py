"""Decisions about canonical URLs, many of them based on bugs of crawlers."""

import pytest
from decisions import HOMEPAGE, OTHER_PAGE, OTHER_SITE, PAGE, decision_for, reason_for, redirect

from urlspelling.canonical import Decision

# No declaration, or the page names itself.


def test_page_without_declarations_is_its_own_canonical_url():
    decision = decision_for()

    assert decision == Decision(
        canonical_url=PAGE, provisional=False, rule="self", reasons=decision.reasons
    )


def test_page_that_names_itself_is_final():
    decision = decision_for(link_canonical=(PAGE,))

    assert (decision.canonical_url, decision.provisional, decision.rule) == (
        PAGE,
        False,
        "link_canonical",
    )
    assert not decision.rejected


def test_error_page_declares_nothing_even_after_a_redirect():
    decision = decision_for(
        redirects=(redirect(PAGE, OTHER_PAGE),), status=404, link_canonical=(HOMEPAGE,)
    )

    assert (decision.canonical_url, decision.aliases) == (PAGE, ())


# Redirects.


def test_permanent_redirect_makes_its_target_canonical():
    decision = decision_for(redirects=(redirect(PAGE, OTHER_PAGE),))

    assert (decision.canonical_url, decision.rule, decision.provisional) == (
        OTHER_PAGE,
        "redirect",
        False,
    )
    assert decision.aliases == (PAGE,)


def test_temporary_redirect_keeps_the_requested_url():
    decision = decision_for(redirects=(redirect(PAGE, OTHER_PAGE, permanent=False),))

    assert (decision.canonical_url, decision.rule, decision.aliases) == (PAGE, "self", ())


def test_permanent_redirects_count_up_to_the_first_temporary_one():
    decision = decision_for(
        redirects=(
            redirect(PAGE, OTHER_PAGE),
            redirect(OTHER_PAGE, OTHER_SITE, permanent=False),
            redirect(OTHER_SITE, HOMEPAGE),
        )
    )

    assert (decision.canonical_url, decision.aliases) == (OTHER_PAGE, (PAGE,))


def test_sign_in_page_after_a_temporary_redirect_does_not_replace_the_page():
    sign_in = "https://shop.example/sign-in"

    decision = decision_for(
        redirects=(redirect(PAGE, sign_in, permanent=False),), link_canonical=(sign_in,)
    )

    assert decision.canonical_url == PAGE
    assert sign_in in reason_for(decision, sign_in)


def test_page_after_a_temporary_redirect_may_name_the_requested_url():
    decision = decision_for(
        redirects=(redirect(PAGE, OTHER_PAGE, permanent=False),), link_canonical=(PAGE,)
    )

    assert (decision.canonical_url, decision.rule, decision.provisional) == (
        PAGE,
        "link_canonical",
        False,
    )


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://shop.example/a", "https://shop.example/a"),
        ("http://shop.example/a", "https://www.shop.example/a"),
        ("https://www.shop.example/a", "https://shop.example/a"),
    ],
)
def test_temporary_redirect_to_https_or_www_is_only_another_spelling(url, target):
    assert (
        decision_for(url, redirects=(redirect(url, target, permanent=False),)).canonical_url
        == target
    )


def test_temporary_redirect_from_https_to_http_is_not_another_spelling():
    url, target = "https://shop.example/a", "http://shop.example/a"

    assert (
        decision_for(url, redirects=(redirect(url, target, permanent=False),)).canonical_url == url
    )


def test_dead_page_redirected_to_the_homepage_does_not_become_the_homepage():
    decision = decision_for(redirects=(redirect(PAGE, HOMEPAGE),), link_canonical=(HOMEPAGE,))

    assert decision.canonical_url == PAGE


def test_short_link_may_resolve_to_a_homepage():
    assert (
        decision_for(
            "https://sho.rt/x", redirects=(redirect("https://sho.rt/x", HOMEPAGE),)
        ).canonical_url
        == HOMEPAGE
    )


def test_final_url_without_its_redirects_is_not_trusted():
    assert decision_for(final_url=OTHER_PAGE).canonical_url == PAGE


# Declarations.


@pytest.mark.parametrize("source", ["link_header", "link_canonical", "og_url", "meta_refresh"])
def test_each_source_can_name_another_page(source):
    text = {"og_url": OTHER_PAGE, "meta_refresh": (0.0, OTHER_PAGE)}.get(source, (OTHER_PAGE,))

    decision = decision_for(**{source: text})

    assert (decision.canonical_url, decision.rule, decision.provisional) == (
        OTHER_PAGE,
        source,
        True,
    )
    assert decision.aliases == (PAGE,)


def test_link_header_takes_precedence_over_the_document():
    decision = decision_for(link_header=(OTHER_PAGE,), link_canonical=(PAGE,))

    assert (decision.canonical_url, decision.rule) == (OTHER_PAGE, "link_header")
    assert "Link header" in reason_for(decision, PAGE)


def test_canonical_link_takes_precedence_over_og_url():
    decision = decision_for(link_canonical=(OTHER_PAGE,), og_url="https://shop.example/share/shoes")

    assert decision.canonical_url == OTHER_PAGE
    assert "has precedence" in reason_for(decision, "https://shop.example/share/shoes")


def test_agreeing_og_url_is_a_reason():
    assert "og:url agrees" in decision_for(link_canonical=(OTHER_PAGE,), og_url=OTHER_PAGE).reasons


def test_conflicting_canonicals_are_both_ignored():
    decision = decision_for(link_canonical=(OTHER_PAGE, "https://shop.example/boots"))

    assert (decision.canonical_url, len(decision.rejected)) == (PAGE, 2)


def test_agreeing_canonicals_count_as_one():
    assert decision_for(link_canonical=(OTHER_PAGE, OTHER_PAGE)).canonical_url == OTHER_PAGE


def test_og_url_is_used_if_canonicals_conflict():
    assert decision_for(link_canonical=(OTHER_PAGE, HOMEPAGE), og_url=OTHER_PAGE).rule == "og_url"


def test_canonical_in_the_body_is_recorded_and_ignored():
    decision = decision_for(body_canonical=(OTHER_PAGE,))

    assert decision.canonical_url == PAGE
    assert decision.rejected == (("body_canonical", OTHER_PAGE, "outside the head"),)


def test_unparsable_candidate_is_recorded():
    assert ("link canonical", "http://", "not an http(s) URL") in decision_for(
        unparsable=(("link canonical", "http://"),)
    ).rejected


def test_delayed_refresh_is_not_a_redirect():
    assert decision_for(meta_refresh=(5.0, OTHER_PAGE)).canonical_url == PAGE


def test_page_that_reloads_itself_is_its_own_canonical_url():
    assert decision_for(meta_refresh=(0.0, PAGE)).rule == "self"
