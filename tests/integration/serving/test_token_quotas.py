"""
Quotas of tokens over HTTP, Thrift, Python and at the command line: refusals contain the numbers.
"""

import tomllib
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.cli import main
from aragog.client import Aragog, connect
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.pipeline.in_flight_values import UrlEnding
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.errors import ConfigError, QuotaExceeded
from aragog.settings import BrokerSettings, RedisSettings, ServingSettings, Settings, load_settings
from tests.api_examples import crawls_of, filled_store
from tests.support.api_server import running
from tests.support.thrift_server import running as running_thrift

pytestmark = pytest.mark.redis
ANA, ANA_ENTRY = new_token("ana", ["read", "write"])
BOB, BOB_ENTRY = new_token("bob", ["read", "write"])
TOKENS = (ANA_ENTRY, BOB_ENTRY)


def urls(count, start=0):
    return [f"http://a{n % 7}.example/{n}" for n in range(start, start + count)]


@pytest.fixture
def system(redis_url, redis_server, tmp_path):
    """Opens the parts of a server whose token `ana` has this quota."""

    @contextmanager
    def opened(quota):
        serving = ServingSettings(tokens=TOKENS, quotas={"ana": quota})
        settings = Settings(
            data_dir=tmp_path,
            redis=RedisSettings(url=redis_url),
            broker=BrokerSettings(url=f"pinlater+socket://{redis_server.socket}?virtual_host=1"),
            serving=serving,
        )
        store = filled_store()
        with Aragog(settings) as producer:
            yield settings, store, producer, crawls_of(redis_url, store)

    return opened


@contextmanager
def served(system, quota):
    with system(quota) as (settings, store, producer, crawls):
        services = Services(enqueue=producer.enqueue, crawls=crawls)
        with running(store, services, tokens=TOKENS) as api:
            yield api, settings


def enqueue(api, urls, token=ANA, **more):
    return api.ask("POST", "/v1/enqueue", {"urls": urls, **more}, authorization=f"Bearer {token}")


def statuses(reply):
    return [result["status"] for result in reply.json["results"]]


def test_token_that_used_up_its_urls_of_the_day_is_refused_with_numbers(system):
    with served(system, "urls_a_day=5") as (api, _):
        assert set(statuses(enqueue(api, urls(5)))) == {"accepted"}

        refused = enqueue(api, urls(3, start=5))

        assert refused.status == 429
        assert 0 < int(refused.headers["retry-after"]) <= 86_400
        assert {n: refused.json[n] for n in ("code", "limit", "most", "used")} == {
            "code": "over_quota", "limit": "urls_a_day", "most": 5, "used": 5,
        }  # fmt: skip
        assert (
            "token ana: urls_a_day: 5 of 5 are used; 3 more URLs must wait"
            in (refused.json["detail"])
        )
        assert set(statuses(enqueue(api, urls(3, start=5), BOB))) == {"accepted"}


def test_refusal_and_settings_match_the_page(system):
    blocks = Path("docs/crawls.md").read_text()
    [line] = [line for line in blocks.splitlines() if line.startswith('{"type":"about:blank"')]
    shown = orjson.loads(line)
    quotas = tomllib.loads(blocks.partition("```toml\n")[2].partition("```")[0])
    text = quotas["serving"]["quotas"]["ana"].replace("urls_a_day=100000", "urls_a_day=5")
    with served(system, text) as (api, _):
        enqueue(api, urls(5))
        answer = enqueue(api, urls(1, start=5)).json

    figures = {"detail": shown["detail"].replace("100,000", "5"), "most": 5, "used": 5}
    assert answer == {**shown, **figures}


def test_part_of_a_call_within_the_quota_is_accepted(system):
    with served(system, "urls_a_day=5") as (api, _):
        reply = enqueue(api, urls(8))

        assert reply.status == 202
        assert statuses(reply).count("accepted") == 5
        assert statuses(reply).count("over budget") == 3
        assert "urls_a_day: 5 of 5" in reply.json["results"][-1]["reason"]


def test_repeated_call_costs_nothing_and_is_not_refused(system):
    with served(system, "urls_a_day=5 waiting_urls=5") as (api, _):
        enqueue(api, urls(5))

        assert set(statuses(enqueue(api, urls(5)))) == {"already waiting"}


def test_waiting_urls_count_until_done(system):
    with served(system, "waiting_urls=4") as (api, settings):
        enqueue(api, urls(4))
        refused = enqueue(api, urls(1, start=4))
        shared = SharedState.from_settings(settings)
        number = shared.crawls.get("token.ana").number
        shared.in_flight.end([UrlEnding(url, number, "stored") for url in urls(2)])

        assert (refused.status, refused.json["limit"]) == (429, "waiting_urls")
        assert statuses(enqueue(api, urls(3, start=4))).count("accepted") == 2


def test_bytes_of_the_day_count_stored_content(system):
    with served(system, "bytes_a_day=1000") as (api, settings):
        enqueue(api, urls(2))
        shared = SharedState.from_settings(settings)
        number = shared.crawls.get("token.ana").number
        shared.in_flight.end([UrlEnding(url, number, "stored", bytes=600) for url in urls(2)])

        refused = enqueue(api, urls(1, start=2))

        assert (refused.json["limit"], refused.json["used"]) == ("bytes_a_day", 1200)


def test_all_crawls_of_a_token_use_one_quota(system):
    with served(system, "urls_a_day=6") as (api, _):
        for name in ("one", "two"):
            api.ask("POST", f"/v1/crawls/{name}", {}, authorization=f"Bearer {ANA}")
            assert set(statuses(enqueue(api, urls(2, start=10 * len(name)), crawl=name))) <= {
                "accepted", "already waiting",
            }  # fmt: skip
            enqueue(api, urls(2, start=100 if name == "one" else 200), crawl=name)
        enqueue(api, urls(2, start=300))

        assert enqueue(api, urls(1, start=400)).status == 429


def test_cancelled_crawl_frees_waiting_urls_but_not_the_urls_of_the_day(system):
    with served(system, "waiting_urls=3 urls_a_day=5") as (api, _):
        enqueue(api, urls(3))
        api.ask(
            "POST", "/v1/crawls/token.ana/state", {"state": "cancelled"},
            authorization=f"Bearer {ANA}",
        )  # fmt: skip

        reply = enqueue(api, urls(3, start=3))

        assert statuses(reply).count("accepted") == 2
        assert "urls_a_day: 5 of 5" in str(reply.json["results"])


def test_only_its_token_can_start_the_crawl_of_a_token(system):
    with served(system, "weight=2") as (api, _):
        reply = api.ask("POST", "/v1/crawls/token.bob", {}, authorization=f"Bearer {ANA}")

        assert reply.status == 403
        assert set(statuses(enqueue(api, urls(1), BOB))) == {"accepted"}


def test_python_client_raises_the_numbers_over_http(system):
    with served(system, "urls_a_day=2") as (api, _):
        with connect(f"http://127.0.0.1:{api.port}", token=ANA) as client:
            client.enqueue(urls(2))
            with pytest.raises(QuotaExceeded, match="urls_a_day: 2 of 2") as caught:
                client.enqueue(urls(1, start=2))

        assert (caught.value.limit, caught.value.most, caught.value.used) == ("urls_a_day", 2, 2)
        assert caught.value.retry_after_s > 0


def test_thrift_raises_the_numbers(system, apache):
    with (
        system("urls_a_day=2") as (_, store, producer, crawls),
        running_thrift(store, tokens=TOKENS, enqueue=producer.enqueue, crawls=crawls) as server,
        apache.client(server.port, "Fetcher") as client,
    ):
        client.authenticate(ANA)
        client.enqueue(urls(2), apache.types.EnqueueOptions())
        with pytest.raises(apache.types.Unavailable, match="urls_a_day: 2 of 2") as caught:
            client.enqueue(urls(1, start=2), apache.types.EnqueueOptions())

    error = caught.value
    assert (error.code, error.limit, error.most, error.used) == ("over_quota", "urls_a_day", 2, 2)
    assert error.retry_after_ms > 0


def test_command_line_names_the_limit(system, monkeypatch):
    """Seeds that an operator adds to a token's crawl count for the token."""
    with system("urls_a_day=1") as (settings, _, producer, crawls):
        crawls.start("docs", {}, token="ana")
        producer.enqueue(urls(1), crawl="docs")
        for name, value in {
            "ARAGOG_SETTINGS": "",
            "ARAGOG_DATA_DIR": str(settings.data_dir),
            "ARAGOG_REDIS__URL": str(settings.redis.url),
            "ARAGOG_BROKER__URL": str(settings.broker.url),
            "ARAGOG_SERVING__TOKENS": ",".join(TOKENS),
            "ARAGOG_SERVING__QUOTAS": "ana=urls_a_day=1 weight=2",
            "ARAGOG_FETCH__USER_AGENT": "t/1.0 (+http://127.0.0.1/)",
        }.items():
            monkeypatch.setenv(name, value)

        done = CliRunner().invoke(main, ["enqueue", "--crawl", "docs", *urls(1, start=1)])

    assert done.exit_code != 0
    assert "token ana: urls_a_day: 1 of 1 are used" in done.output + str(done.exception)


def test_links_over_the_quota_are_left_out_one_by_one(system):
    """No caller waits for the result, and a stage must not fail."""
    with system("urls_a_day=2") as (_, _, producer, crawls):
        number = crawls.start("docs", {}, token="ana").record.number
        found = list(producer._enqueuer.enqueue(urls(4), EnqueueOptions(crawl_number=number)))
        more = list(
            producer._enqueuer.enqueue(urls(2, start=4), EnqueueOptions(crawl_number=number))
        )

    assert [r.status for r in found].count(EnqueueStatus.ACCEPTED) == 2
    assert {r.status for r in more} == {EnqueueStatus.OVER_BUDGET}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("urls=5", "'urls' is not one of urls_a_day"),
        ("urls_a_day=many", "'many' is not a number"),
        ("waiting_urls=-1", "'-1' is negative"),
        ("weight=0", "weight must be from 0.01 to 100"),
    ],
)
def test_invalid_quota_is_refused_at_startup(text, problem):
    with pytest.raises(ConfigError, match=f"serving.quotas: ana: {problem}"):
        load_settings(environ={"ARAGOG_SERVING__QUOTAS": f"ana={text}"})
