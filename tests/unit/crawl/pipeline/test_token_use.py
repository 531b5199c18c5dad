"""Use of a token against its quota: limits per server, and the limit named in a refusal."""

import pytest

from aragog.crawl.pipeline.crawl_records import check_name
from aragog.crawl.pipeline.token_use import DAY_MS, CrawlUse, TokenQuotas, implicit_crawl_name
from aragog.settings.token_quotas import TokenQuota

NOON_MS = 100 * DAY_MS + DAY_MS // 2


class Counts:
    """Two servers: URLs of crawl 2 wait on both, of crawl 3 only on the second."""

    def use(self, numbers, day):
        assert day == 100
        uses = [{2: CrawlUse(10, 30, 500)}, {2: CrawlUse(5, 6, 0), 3: CrawlUse(7, 8, 900)}]
        return [{n: use.get(n, CrawlUse(0, 0, 0)) for n in numbers} for use in uses]


def state(text, ended=frozenset()):
    quotas = TokenQuotas({"ana": TokenQuota.read(text)}, Counts())
    return quotas.state("ana", 2, [2, 3], ended, NOON_MS)


def test_use_of_a_token_is_the_sum_over_its_crawls_and_servers():
    found = state("urls_a_day=100 waiting_urls=50")

    assert (found.urls, found.waiting, found.bytes) == (44, 22, 1400)


def test_ended_crawls_do_not_count_as_waiting():
    assert state("waiting_urls=50", ended=frozenset({3})).waiting == 15


def test_limit_of_a_server_accounts_for_the_others():
    found = state("urls_a_day=50 waiting_urls=25")

    assert found.bounds(0) == (30 + 6, 10 + 3)
    assert found.bounds(1) == (6 + 6, 5 + 3)


def test_no_limit_gives_no_bound():
    assert state("urls_a_day=50").bounds(0) == (36, -1)
    assert state("weight=3") is None
    assert TokenQuotas({}, Counts()).state("bob", 2, [2], frozenset(), NOON_MS) is None


def test_nothing_fits_once_the_daily_bytes_are_used():
    found = state("bytes_a_day=1400 urls_a_day=1000")

    assert found.bounds(0) == (0, 0)
    assert found.refusal(1).limit == "bytes_a_day"


@pytest.mark.parametrize(
    ("text", "limit", "wait_s"),
    [
        ("urls_a_day=44 waiting_urls=50", "urls_a_day", 43_200),
        ("urls_a_day=100 waiting_urls=22", "waiting_urls", 60),
        ("urls_a_day=100 bytes_a_day=2000", "urls_a_day", 43_200),
    ],
)
def test_refusal_names_the_scarcest_limit(text, limit, wait_s):
    error = state(text).refusal(3)

    assert (error.limit, error.retry_after_s) == (limit, wait_s)
    assert f"{limit}: {error.used} of {error.most} are used; 3 more URLs" in str(error)


@pytest.mark.parametrize("token", ["ana", "a" * 64, "zoë", "x.y-z_1"])
def test_every_token_has_a_valid_crawl_name(token):
    check_name(implicit_crawl_name(token))
    assert implicit_crawl_name(token) != implicit_crawl_name(token + "2")
