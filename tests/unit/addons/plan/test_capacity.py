"""The capacity plan of a crawl: needs grow with demand, and every figure has a source."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from aragog.addons.plan import capacity, crawl_load, server_needs
from aragog.addons.plan.command import amount
from aragog.addons.plan.command import plan as plan_command
from aragog.addons.plan.costs import read_costs
from aragog.addons.plan.crawl_load import CrawlLoad
from aragog.addons.plan.demand import Demand
from aragog.crawl.fetcher.http1 import pool, tls
from aragog.errors import BadInput
from aragog.settings import FetchSettings

ROOT = Path(__file__).resolve().parents[4]
BILLION = Demand(urls=1e9, domains=1e7)


COSTS = read_costs()


def plan(demand):
    return capacity.plan(demand, COSTS)


def load(demand, name):
    return {limit.name: limit.load for limit in plan(demand).limits}[name]


def test_billion_pages_a_week_are_1653_a_second():
    assert plan(BILLION).amount("pages/s") == pytest.approx(1e9 / 604_800)


@pytest.mark.parametrize("name", ["S3 puts", "S3 put cost", "S3 data", "HBase data", "bandwidth"])
def test_twice_the_urls_need_twice_the_resources(name):
    twice = plan(replace(BILLION, urls=2e9)).amount(name)

    assert twice == pytest.approx(2 * plan(BILLION).amount(name))


@pytest.mark.parametrize("change", [{"urls": 3e9}, {"days": 2}, {"page_bytes": 300_000}])
def test_more_work_in_the_same_time_needs_more_cores(change):
    more = plan(replace(BILLION, **change))

    assert more.amount("worker cores") > plan(BILLION).amount("worker cores")
    assert more.amount("worker machines") >= plan(BILLION).amount("worker machines")


POSTGRES = replace(BILLION, store="postgres", jobs="postgres")


@pytest.mark.parametrize(
    "name",
    ["PostgreSQL cores", "PostgreSQL data", "PostgreSQL WAL", "PostgreSQL round trips",
     "job server cores", "job server disk"],
)  # fmt: skip
def test_twice_the_urls_need_twice_the_postgres_resources(name):
    twice = plan(replace(POSTGRES, urls=2e9)).amount(name)

    assert twice == pytest.approx(2 * plan(POSTGRES).amount(name))


def test_each_store_and_broker_has_its_own_needs():
    both = [{need.name for need in plan(demand).needs} for demand in (BILLION, POSTGRES)]

    assert both[0] - both[1] == {
        "HBase data", "HBase regions", "HBase region servers"
    }  # fmt: skip
    assert all(name.startswith(("PostgreSQL", "job server")) for name in both[1] - both[0])


def test_jobs_in_postgres_leave_the_in_flight_set_in_redis():
    waiting = replace(POSTGRES, waiting=1e6)

    assert (
        plan(waiting).amount("queue memory")
        < plan(replace(waiting, jobs="redis")).amount("queue memory") / 2
    )
    disk = plan(waiting).amount("job server disk")
    assert disk == pytest.approx(1e6 * COSTS["postgres_waiting_url"].value / 1e9)


def test_larger_postgres_server_is_less_loaded():
    small, large = (replace(POSTGRES, cores=cores) for cores in (4, 32))

    assert load(small, "one PostgreSQL server with 4 cores") == pytest.approx(
        8 * load(large, "one PostgreSQL server with 32 cores")
    )


def test_connections_grow_with_the_machines():
    few, many = (plan(replace(POSTGRES, urls=urls)) for urls in (1e8, 1e10))

    for each in (few, many):
        machines = each.amount("worker machines")
        expected = machines * 16 * COSTS["postgres_connections"].value
        assert each.amount("PostgreSQL connections") == expected


def test_small_crawl_needs_one_of_each():
    small = plan(Demand(urls=1e5, domains=100))

    names = ("worker machines", "limiter nodes", "other Redis", "HBase region servers")
    for name in (*names, "fetch processes"):
        assert small.amount(name) == 1


def test_unchanged_pages_are_not_put_again():
    for content in ("packs", "objects"):
        all_new = plan(replace(BILLION, content=content))
        quarter = plan(replace(BILLION, content=content, changed=0.25))
        assert quarter.amount("S3 puts") == pytest.approx(0.25 * all_new.amount("S3 puts"))
    assert all_new.amount("S3 puts") == pytest.approx(1e9)


def test_storing_a_billion_pages_a_week_costs_little_more_than_the_bytes():
    week = plan(BILLION)

    assert week.amount("S3 put cost") < 20
    assert week.amount("S3 reads") == pytest.approx(1e8)
    puts, reads = 4.35 * week.amount("S3 put cost"), week.amount("S3 read cost")
    assert puts + reads + week.amount("S3 storage cost") < 600


def test_queue_memory_is_proportional_to_the_waiting_urls():
    waiting = plan(replace(BILLION, waiting=1e6)).amount("queue memory")

    assert waiting == pytest.approx(1e6 * COSTS["waiting_url"].value / 1e9)


def test_most_loaded_part_comes_first():
    loads = [limit.load for limit in plan(BILLION).limits]

    assert loads == sorted(loads, reverse=True)


def test_few_domains_limit_a_fast_crawl():
    few = replace(BILLION, domains=100)

    assert load(few, "the domains' rates") == pytest.approx(1e9 / 604_800 / 1000)


def test_every_measured_cost_is_used_and_its_command_exists():
    source = "".join(Path(m.__file__).read_text() for m in (capacity, crawl_load, server_needs))
    for name, cost in COSTS.items():
        assert f'"{name}"' in source or name == "reference", f"{name} is not used"
        if module := re.match(r"python -m (bench\.\w+)", cost.measured_by):
            path = ROOT / module[1].replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
        elif cost.measured_by.startswith("docs/"):
            assert (ROOT / cost.measured_by.partition("#")[0]).exists()


def test_command_prints_needs_and_bottlenecks():
    result = CliRunner().invoke(plan_command, ["--urls", "1e9", "--domains", "1e7", "--costs"])

    assert result.exit_code == 0, result.output
    for text in ("worker machines", "S3 put cost", "Bottlenecks", "make bench"):
        assert text in result.output


def test_command_plans_with_postgres():
    options = ["--urls", "1e8", "--domains", "1e6", "--store", "postgres", "--jobs", "postgres"]
    result = CliRunner().invoke(plan_command, options)

    assert result.exit_code == 0, result.output
    for text in ("PostgreSQL connections", "job server disk", "one PostgreSQL server for jobs"):
        assert text in result.output
    assert "HBase data" not in result.output


def test_prices_from_a_file_replace_the_list_prices(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text('[s3_put]\nvalue = 0.00001\nmeasured_by = "our contract"\n')
    options = ["--urls", "1e9", "--domains", "1e7", "--prices", str(file), "--costs", "--json"]

    printed = json.loads(CliRunner().invoke(plan_command, options).stdout)

    needs = {need["name"]: need["amount"] for need in printed["needs"]}
    costs = {cost["name"]: cost for cost in printed["costs"]}
    assert needs["S3 put cost"] == pytest.approx(2 * plan(BILLION).amount("S3 put cost"))
    assert costs["s3_put"]["measured_by"] == "our contract"
    assert costs["s3_month"]["value"] == COSTS["s3_month"].value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[s3_list]\nvalue = 1", "s3_list is not a cost; the costs are reference, canonicalize, "),
        ("[s3_put]\nvalue = -1", "[s3_put] needs a value of at least 0, got -1"),
        ("s3_put = 1", "[s3_put] needs a value"),
        ("[s3_put", "cannot be read as TOML"),
    ],
)
def test_invalid_price_file_is_refused(tmp_path, text, problem):
    file = tmp_path / "prices.toml"
    file.write_text(text)

    with pytest.raises(BadInput, match=re.escape(problem)):
        read_costs(file)


def test_slower_servers_need_more_processes_but_not_more_cpu():
    slow = plan(replace(BILLION, latency_ms=5000))

    assert slow.amount("fetch processes") == math.ceil(
        1e9 / 604_800 * 5 / (FetchSettings().concurrency * 0.6)
    )
    assert slow.amount("worker cores") == pytest.approx(
        plan(BILLION).amount("worker cores"), rel=0.01
    )


def test_https_costs_a_handshake_per_connection():
    plain, kept, spread = (
        CrawlLoad(replace(BILLION, **change), COSTS).connection_ms(
            CrawlLoad(replace(BILLION, **change), COSTS).connections()
        )
        for change in ({"https_share": 0}, {"pages_per_connection": 20}, {})
    )

    assert plain == pytest.approx(COSTS["connection"].value + COSTS["dns"].value, rel=0.01)
    assert spread == pytest.approx(
        0.95 * COSTS["tls_full"].value + 0.05 * COSTS["connection"].value + COSTS["dns"].value,
        rel=0.01,
    )
    assert kept < spread / 10


def test_plan_uses_the_connection_limits_of_the_fetcher():
    connections = crawl_load.MAX_IDLE_CONNECTIONS, crawl_load.IDLE_CONNECTION_S
    sessions = crawl_load.MAX_SESSIONS, crawl_load.SESSION_S

    assert connections == (pool.MAX_IDLE, pool.MAX_IDLE_S)
    assert sessions == (tls.MAX_SESSIONS, tls.MAX_SESSION_AGE_S)


def test_few_busy_hosts_keep_their_connections():
    few = CrawlLoad(Demand(urls=1e7, domains=20), COSTS).connections()

    assert few.opened < 0.01
    assert few.looked_up < 0.01


def test_queue_that_does_not_fit_needs_servers_by_memory():
    large = plan(replace(BILLION, waiting=1e9, redis_memory=32))

    needed = math.ceil(
        (1e9 * COSTS["waiting_url"].value + 1e7 * COSTS["robots_rules"].value) / 25.6e9
    )
    assert large.amount("other Redis") == needed
    (limit,) = [each for each in large.limits if each.name.endswith("queue")]
    assert limit.load > 1
    assert f"needs {needed} in broker.shards and redis.nodes" in limit.remedy


def test_slow_servers_need_a_larger_spool():
    (limit,) = [
        each for each in plan(replace(BILLION, latency_ms=1000)).limits if "spool" in each.name
    ]
    needed = float(re.search(r"([\d]+) MiB of pipeline", limit.remedy)[1])

    assert limit.load > 1
    assert limit.load == pytest.approx(needed / 128, rel=0.01)
    assert load(replace(BILLION, latency_ms=100), limit.name) == pytest.approx(limit.load / 10)


def test_overloaded_compaction_has_computed_remedies():
    (limit,) = [
        each for each in plan(replace(BILLION, urls=2e10)).limits if "compaction" in each.name
    ]
    links = int(re.search(r"or (\d+) links per page", limit.remedy)[1])

    running = COSTS["compactors"].value
    assert limit.remedy.startswith(f"needs {math.ceil(running * limit.load)} in store.compactions")
    assert load(replace(BILLION, urls=2e10, links=links), "link compaction") <= 1
    twice = {**COSTS, "compactors": COSTS["compactors"]._replace(value=2 * running)}
    (halved,) = [
        x
        for x in capacity.plan(replace(BILLION, urls=2e10), twice).limits
        if "compaction" in x.name
    ]
    assert halved.load == pytest.approx(limit.load / 2)


def test_refreshes_count_as_fetches_and_304_responses_save_their_analysis():
    both, none = (
        plan(replace(BILLION, stored=1e9, refresh_days=30, refresh_changed=0.1, not_modified=share))
        for share in (0.9, 0)
    )

    assert both.amount("refreshes/s") == pytest.approx(1e9 / 30 / 86_400)
    assert plan(BILLION).amount("worker cores") < both.amount("worker cores")
    assert both.amount("worker cores") < none.amount("worker cores")
    puts = plan(BILLION).amount("S3 puts")
    # A replaced body is written once more when its pack is half dead.
    assert both.amount("S3 puts") == pytest.approx(puts * (1 + 2 * 0.1 / 30 * 7))


@pytest.mark.parametrize("store", ["hbase", "postgres"])
def test_reads_need_api_machines_and_more_of_the_store(store):
    quiet = replace(POSTGRES, store=store)
    read = replace(quiet, reads_per_second=1e6, hit_ratio=0.5)
    name = {"hbase": "HBase region servers", "postgres": "PostgreSQL cores"}[store]

    assert plan(read).amount("API machines") > 1
    assert "API machines" not in {need.name for need in plan(quiet).needs}
    assert plan(read).amount(name) > plan(quiet).amount(name)


def test_cache_misses_are_limited_by_the_disk():
    read = replace(POSTGRES, reads_per_second=1e6, hit_ratio=0.9)

    assert load(read, "reads of one disk") == pytest.approx(1e5 / COSTS["disk_reads"].value)
    (limit,) = [each for each in plan(read).limits if each.name == "reads of one disk"]
    needed = float(re.search(r"hit ratio of ([\d.]+)%", limit.remedy)[1]) / 100
    assert load(replace(read, hit_ratio=needed), "reads of one disk") == pytest.approx(1, rel=0.01)


def test_largest_domain_is_limited_by_its_rate():
    one = Demand(urls=1e9, domains=1e7, largest_domain=864_000 * 14)

    assert load(one, "the largest domain's rate") == pytest.approx(2)
    assert Demand(urls=100, domains=1).largest_domain_urls == pytest.approx(100, rel=0.08)
    assert Demand(urls=100, domains=2).largest_domain_urls == pytest.approx(66.7, rel=0.08)


def test_sitemaps_take_cpu():
    read = plan(replace(BILLION, sitemap_urls=86_400e3))

    more = read.amount("worker cores") - plan(BILLION).amount("worker cores")
    assert more == pytest.approx(COSTS["sitemap_url"].value)


def test_refresh_shares_above_one_are_refused():
    options = ["--urls", "1", "--domains", "1", "--not-modified", "0.8", "--refresh-changed", "0.3"]

    assert CliRunner().invoke(plan_command, options).exit_code == 2


@pytest.mark.parametrize("urls", ["0", "-1", "many"])
def test_empty_demand_is_refused(urls):
    assert CliRunner().invoke(plan_command, ["--urls", urls, "--domains", "1"]).exit_code == 2


def test_amounts_are_short():
    assert [amount(n) for n in (0.123, 2, 9.87, 1653.4)] == ["0.12", "2", "9.9", "1,653"]
