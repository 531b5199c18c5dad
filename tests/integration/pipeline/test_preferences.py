"""Crawls for a purpose on an origin with forty policies: nothing is kept against a policy."""

import json

import pytest

from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.transfer.import_export import export_urls
from aragog.urlstore.records import is_allowed
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis

SEARCH, INPUT, TRAIN = "search", "ai-input", "ai-train"
ALL = (SEARCH, INPUT, TRAIN)
MODELS = (INPUT, TRAIN)
AGENT = "testbot"
RSL = 'rel="license"; type="application/rsl+xml"'
ROBOTS = {
    # host: the lines of its group, and the purposes that they refuse for /page
    "usage-n": ("Content-Usage: train-ai=n", (TRAIN,)),
    "usage-search": ("Content-Usage: search=n", (SEARCH,)),
    "usage-both": ("Content-Usage: search=n, train-ai=n", (SEARCH, TRAIN)),
    "usage-y": ("Content-Usage: train-ai=y", ()),
    "usage-path": ("Content-Usage: /page train-ai=n", (TRAIN,)),
    "usage-other-path": ("Content-Usage: /other train-ai=n", ()),
    "usage-longer": ("Content-Usage: train-ai=n\nContent-Usage: /pa train-ai=y", ()),
    "usage-equal": ("Content-Usage: /pa train-ai=n\nContent-Usage: /pa train-ai=y", (TRAIN,)),
    "usage-broken": ("Content-Usage: Train-AI=n", ()),
    "usage-unknown": ("Content-Usage: bots=n", ()),
    "signal-train": ("Content-Signal: search=yes, ai-train=no", (TRAIN,)),
    "signal-input": ("Content-Signal: ai-input=no", (INPUT,)),
    "signal-all": ("Content-Signal: search=no, ai-input=no, ai-train=no", ALL),
    "signal-yes": ("Content-Signal: search=yes, ai-input=yes, ai-train=yes", ()),
    "signal-use": ("Content-Signal: use=reference", ()),
    "signal-against-usage": ("Content-Signal: ai-train=yes\nContent-Usage: train-ai=n", (TRAIN,)),
    "license": ("License: https://a.test/license.xml", ()),
    "silent": ("Allow: /", ()),
}
HEADERS = {
    "h-usage": ((("Content-Usage", "train-ai=n"),), (TRAIN,)),
    "h-usage-y": ((("Content-Usage", "train-ai=y, search=y"),), ()),
    "h-usage-list": ((("Content-Usage", "search=n"), ("Content-Usage", "train-ai=n")), (SEARCH, TRAIN)),
    "h-signal": ((("Content-Signal", "ai-input=no"),), (INPUT,)),
    "h-tdm": ((("TDM-Reservation", "1"),), MODELS),
    "h-tdm-0": ((("TDM-Reservation", "0"),), ()),
    "h-tdm-policy": ((("TDM-Reservation", "1"), ("TDM-Policy", "https://a.test/p")), MODELS),
    "h-noindex": ((("X-Robots-Tag", "noindex"),), (SEARCH,)),
    "h-none": ((("X-Robots-Tag", "none"),), (SEARCH,)),
    "h-ours": ((("X-Robots-Tag", f"{AGENT}: noai"),), MODELS),
    "h-others": ((("X-Robots-Tag", "otherbot: noai, noindex"),), ()),
    "h-nosnippet": ((("X-Robots-Tag", "nosnippet"),), (INPUT,)),
    "h-noarchive": ((("X-Robots-Tag", "noarchive, noimageindex, max-snippet:50"),), ()),
    "h-license": ((("Link", f"<https://a.test/l.xml>; {RSL}"),), ()),
}  # fmt: skip
METAS = {
    "m-noindex": ('<meta name="robots" content="noindex, follow">', (SEARCH,)),
    "m-ours": (f'<meta name="{AGENT}" content="noindex">', (SEARCH,)),
    "m-others": ('<meta name="otherbot" content="noindex, noai">', ()),
    "m-noai": ('<meta name="robots" content="noai, noimageai">', MODELS),
    "m-snippet": ('<meta name="robots" content="max-snippet:0">', (INPUT,)),
    "m-tdm": ('<meta name="tdm-reservation" content="1">', MODELS),
    "m-license": (f'<link {RSL} href="https://a.test/l.xml">', ()),
    "m-all": ('<meta name="robots" content="all">', ()),
}
FILES = {
    "f-site": ([{"location": "/", "tdm-reservation": 1}], MODELS),
    "f-path": ([{"location": "/other", "tdm-reservation": 1}], ()),
    "f-0": ([{"location": "/page", "tdm-reservation": 0}], ()),
    "f-first": ([{"location": "/pa*", "tdm-reservation": 1},
                 {"location": "/page", "tdm-reservation": 0}], MODELS),
}  # fmt: skip
POLICIES = {
    name: refused
    for table in (ROBOTS, HEADERS, METAS, FILES)
    for name, (_, refused) in table.items()
}


def robots(request, _wire):
    lines = ROBOTS.get(request.host.removesuffix(".test"), ("Allow: /",))[0]
    return answer(200, f"User-agent: *\n{lines}\n".encode(), content_type="text/plain")


def tdm_file(request, _wire):
    rules = FILES.get(request.host.removesuffix(".test"), (None,))[0]
    return answer(200, json.dumps(rules).encode()) if rules else answer(404)


def policy_page(request, _wire):
    name = request.host.removesuffix(".test")
    meta = METAS.get(name, ("",))[0]
    html = f"<html><head><title>{name}</title>{meta}</head><body>text</body></html>"
    return page(html.encode(), headers=HEADERS.get(name, ((),))[0])


def url_of(name):
    return f"http://{name}.test/page"


@pytest.fixture
def harness_for(crawl_harness):
    """A crawl of all policies for these purposes."""

    def crawled(*purposes, routes=None, **preferences):
        routes = routes or {
            "/robots.txt": robots, "/page": policy_page, "/.well-known/tdmrep.json": tdm_file,
        }  # fmt: skip
        return crawl_harness(routes, qps=1000, agent=f"{AGENT}/1.0 (+http://bot.test/)",
                            preferences={"purposes": purposes, **preferences})  # fmt: skip

    return crawled


def test_there_are_forty_policies_and_four_files():
    assert len(POLICIES) == 44


@pytest.mark.parametrize("purpose", ALL)
def test_pages_are_kept_unless_a_policy_refuses_the_purpose(harness_for, purpose):
    harness = harness_for(purpose)

    harness.crawl([url_of(name) for name in POLICIES], EnqueueOptions())

    kept, reasons = set(), {}
    for name in POLICIES:
        record = harness.urls.get(url_of(name))
        if record.content_key:
            kept.add(name)
        else:
            assert record.fields == {}
            reasons[name] = (record.facts["outcome"], record.facts["reason"])
    refused = {name for name, purposes in POLICIES.items() if purpose in purposes}
    assert kept == POLICIES.keys() - refused
    asked = {
        request.host.removesuffix(".test")
        for request in harness.origin.seen
        if request.path == "/page"
    }
    before = ROBOTS | FILES
    assert asked == POLICIES.keys() - (refused & before.keys())
    for name, (outcome, reason) in reasons.items():
        assert outcome == ("Refused" if name in before else "Reserved"), name
        assert reason.startswith(f"not for {purpose}: "), name
        if name in before:
            assert ("robots.txt line " if name in ROBOTS else "tdmrep.json rule 1 ") in reason


@pytest.mark.parametrize("reads_file", [False, True])
def test_without_purposes_everything_is_kept_and_readers_can_choose(harness_for, reads_file):
    harness = harness_for(read_tdm_file=reads_file)

    harness.crawl([url_of(name) for name in POLICIES], EnqueueOptions())

    assert all(harness.urls.get(url_of(name)).content_key for name in POLICIES)
    for purpose in ALL:
        exported = Exported()
        export_urls(harness.urls.zen, exported, purpose=purpose)
        allowed = {url_of(name) for name, refused in POLICIES.items() if purpose not in refused}
        if purpose in MODELS and not reads_file:
            allowed = set()  # tdmrep.json might reserve any of them
        assert {record.url for record in exported.records} == allowed
    report = harness.urls.pages.fetch_report(url_of("usage-n"))
    robots_reason = "ai-train=n (robots.txt line 2, Content-Usage: train-ai=n)"
    note = "tdmrep=read (/.well-known/tdmrep.json)"
    assert report.robots_preferences == (
        f"{robots_reason}\n{note}" if reads_file else robots_reason
    )
    facts = harness.urls.get(url_of("silent")).facts
    assert facts.get("robots_preferences") == (note if reads_file else None)
    assert "page_preferences" not in facts


def test_page_stored_without_purposes_is_not_for_use_by_models(harness_for):
    harness = harness_for()
    url = url_of("f-site")

    harness.crawl([url], EnqueueOptions())

    facts = harness.urls.get(url).facts
    assert is_allowed(facts, SEARCH)
    assert not is_allowed(facts, INPUT)
    assert not is_allowed(facts, TRAIN)


class Exported:
    """The records of an export."""

    def __init__(self):
        self.records = []

    def write(self, records):
        self.records += records


def test_page_that_is_no_longer_allowed_is_deleted(harness_for):
    says = {"header": ()}
    harness = harness_for(
        SEARCH, routes={"/page": lambda *_: page(b"<title>t</title>", headers=says["header"])}
    )
    url = "http://changes.test/page"
    harness.crawl([url], EnqueueOptions())
    assert harness.urls.content(url) is not None

    says["header"] = (("X-Robots-Tag", "noindex"),)
    harness.crawl([url], EnqueueOptions(refresh=True))

    record = harness.urls.get(url)
    assert (record.content_key, record.fields) == (None, {})
    assert record.facts["reason"] == "not for search: X-Robots-Tag: noindex"
    assert harness.urls.content(url) is None

    says["header"] = ()
    harness.crawl([url], EnqueueOptions(refresh=True))

    assert harness.urls.content(url) is not None


def test_redirect_to_a_page_not_for_the_purpose_is_not_followed(harness_for):
    def moved(request, wire):
        if request.host == "start.test":
            return answer(302, headers=(("Location", url_of("signal-train")),))
        return policy_page(request, wire)

    harness = harness_for(TRAIN, routes={"/robots.txt": robots, "/page": moved})

    harness.crawl(["http://start.test/page"], EnqueueOptions())

    facts = harness.urls.get("http://start.test/page").facts
    assert facts["outcome"] == "Refused"
    assert "robots.txt line 2, Content-Signal: search=yes, ai-train=no" in facts["reason"]
    assert "signal-train.test" not in {r.host for r in harness.origin.seen if r.path == "/page"}


@pytest.mark.parametrize("obeyed", [True, False])
def test_page_past_its_date_is_not_kept(harness_for, obeyed):
    header = (("X-Robots-Tag", "unavailable_after: 25 Jun 2010 15:00:00 PST"),)
    harness = harness_for(
        routes={"/page": page(b"<title>t</title>", headers=header)}, obey_unavailable_after=obeyed
    )
    url = "http://old.test/page"

    harness.crawl([url], EnqueueOptions())

    record = harness.urls.get(url)
    assert (record.content_key is None) is obeyed
    assert record.facts["outcome"] == ("Reserved" if obeyed else "Fetched")
