"""Decisions about canonical URLs, many of them based on bugs of crawlers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlspelling.canonical import Decision, Evidence, KnownPage, Redirect, decide

PAGE = "https://shop.example/blue-shoes?colour=blue"
OTHER_PAGE = "https://shop.example/shoes"
HOMEPAGE = "https://shop.example/"
OTHER_SITE = "https://elsewhere.test/shoes"


def decision_for(url=PAGE, **evidence) -> Decision:
    evidence.setdefault(
        "final_url", evidence["redirects"][-1].target if evidence.get("redirects") else url
    )
    return decide(Evidence(url=url, **evidence))


def redirect(url, target, *, permanent=True):
    return Redirect(url, target, permanent)


def reason_for(decision, url):
    return next(reason_for for _, rejected, reason_for in decision.rejected if rejected == url)


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


# Properties that hold for any evidence.

urls = st.sampled_from(
    [
        PAGE,
        OTHER_PAGE,
        HOMEPAGE,
        OTHER_SITE,
        "http://shop.example/shoes",
        "http://[::1]/",
        "http://./",
        "https://10.0.0.1/x",
    ]
)
hops = st.lists(st.builds(Redirect, urls, urls, st.booleans()), max_size=4).map(tuple)
pages = st.builds(
    KnownPage,
    status=st.sampled_from([None, 200, 301, 304, 404, 503]),
    canonical_url=st.none() | urls,
    redirects_to=st.none() | urls,
    gone=st.booleans(),
)
some = st.lists(urls, max_size=3).map(tuple)
evidences = st.builds(
    Evidence,
    url=urls,
    final_url=urls,
    status=st.sampled_from([200, 404, 500]),
    redirects=hops,
    link_header=some,
    link_canonical=some,
    body_canonical=some,
    og_url=st.none() | urls,
    meta_refresh=st.none() | st.tuples(st.sampled_from([0.0, 9.0]), urls),
    is_amp=st.booleans(),
    amp_url=st.none() | urls,
    hreflang=st.lists(st.tuples(st.sampled_from(["en", "de"]), urls), max_size=3).map(tuple),
    known=st.dictionaries(urls, pages, max_size=4),
)


@given(evidences)
def test_any_evidence_gives_one_explained_decision(evidence):
    decision = decide(evidence)

    assert decision == decide(evidence)
    assert decision.canonical_url not in decision.aliases
    assert decision.reasons or decision.rejected


@given(evidences)
def test_page_known_to_be_gone_is_never_canonical_for_another(evidence):
    decision = decide(evidence)

    known = evidence.known.get(decision.canonical_url)
    own = {evidence.url, evidence.final_url, *(hop.target for hop in evidence.redirects)}
    assert decision.canonical_url in own or known is None or not known.gone


@given(evidences)
def test_only_redirects_decide_without_declarations(evidence):
    silent = replace(evidence, link_header=(), link_canonical=(), og_url=None, meta_refresh=None)

    assert decide(silent).canonical_url in {silent.url, *(hop.target for hop in silent.redirects)}
