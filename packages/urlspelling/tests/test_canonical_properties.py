"""Properties of decisions that hold for any evidence."""

from dataclasses import replace

from decisions import HOMEPAGE, OTHER_PAGE, OTHER_SITE, PAGE
from hypothesis import given
from hypothesis import strategies as st

from urlspelling.canonical import Evidence, KnownPage, Redirect, decide

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
