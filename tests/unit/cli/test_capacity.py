"""The plan of a crawl: it grows with the demand, and each of its figures has a source."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from aragog.cli import capacity
from aragog.cli.capacity import Demand, read_costs
from aragog.cli.plan import amount
from aragog.cli.plan import plan as plan_command
from aragog.errors import BadInput

ROOT = Path(__file__).resolve().parents[3]
BILLION = Demand(urls=1e9, domains=1e7)


COSTS = read_costs()


def plan(demand):
    return capacity.plan(demand, COSTS)


def load(demand, name):
    return {limit.name: limit.load for limit in plan(demand).limits}[name]


def test_a_billion_pages_a_week_are_1653_a_second():
    assert plan(BILLION).amount("pages/s") == pytest.approx(1e9 / 604_800)


@pytest.mark.parametrize("name", ["S3 puts", "S3 put cost", "S3 data", "HBase data", "bandwidth"])
def test_twice_the_urls_need_twice(name):
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
    ["PostgreSQL cores", "PostgreSQL data", "PostgreSQL log", "PostgreSQL round trips",
     "job server cores", "job server disk"],
)  # fmt: skip
def test_twice_the_urls_need_twice_of_postgres(name):
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


def test_a_larger_server_of_postgres_is_less_loaded():
    small, large = (replace(POSTGRES, cores=cores) for cores in (4, 32))

    assert load(small, "a PostgreSQL with 4 cores") == pytest.approx(
        8 * load(large, "a PostgreSQL with 32 cores")
    )


def test_connections_grow_with_the_machines():
    few, many = (plan(replace(POSTGRES, urls=urls)) for urls in (1e8, 1e10))

    for each in (few, many):
        machines = each.amount("worker machines")
        expected = machines * 16 * COSTS["postgres_connections"].value
        assert each.amount("PostgreSQL connections") == expected


def test_a_small_crawl_needs_one_of_each():
    small = plan(Demand(urls=1e5, domains=100))

    for name in ("worker machines", "limiter nodes", "other Redis", "HBase region servers"):
        assert small.amount(name) == 1


def test_unchanged_pages_are_not_put_again():
    assert plan(replace(BILLION, changed=0.25)).amount("S3 puts") == 0.25e9


def test_memory_of_the_queue_is_that_of_the_waiting_urls():
    waiting = plan(replace(BILLION, waiting=1e6)).amount("queue memory")

    assert waiting == pytest.approx(1e6 * COSTS["waiting_url"].value / 1e9)


def test_the_most_loaded_part_comes_first():
    loads = [limit.load for limit in plan(BILLION).limits]

    assert loads == sorted(loads, reverse=True)


def test_few_domains_are_the_limit_of_a_fast_crawl():
    few = replace(BILLION, domains=100)

    assert load(few, "the domains' rates") == pytest.approx(1e9 / 604_800 / 1000)


def test_every_measured_cost_is_used_and_its_command_exists():
    source = Path(capacity.__file__).read_text()
    for name, cost in COSTS.items():
        assert f'"{name}"' in source, f"{name} is not used"
        if module := re.match(r"python -m (bench\.\w+)", cost.measured_by):
            assert (ROOT / module[1].replace(".", "/")).with_suffix(".py").exists()
        elif cost.measured_by.startswith("docs/"):
            assert (ROOT / cost.measured_by).exists()


def test_the_command_prints_what_is_needed_and_what_breaks_first():
    result = CliRunner().invoke(plan_command, ["--urls", "1e9", "--domains", "1e7", "--costs"])

    assert result.exit_code == 0, result.output
    for text in ("worker machines", "S3 put cost", "Bottlenecks", "make bench"):
        assert text in result.output


def test_the_command_plans_with_postgres():
    options = ["--urls", "1e8", "--domains", "1e6", "--store", "postgres", "--jobs", "postgres"]
    result = CliRunner().invoke(plan_command, options)

    assert result.exit_code == 0, result.output
    for text in ("PostgreSQL connections", "job server disk", "one PostgreSQL of jobs"):
        assert text in result.output
    assert "HBase data" not in result.output


def test_prices_of_a_file_take_the_place_of_the_list_prices(tmp_path):
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
        ("[s3_get]\nvalue = 1", "s3_get is not a cost; known are canonicalize, "),
        ("[s3_put]\nvalue = -1", "[s3_put] needs a value of at least 0, got -1"),
        ("s3_put = 1", "[s3_put] needs a value"),
        ("[s3_put", "cannot be read as TOML"),
    ],
)
def test_a_file_of_prices_that_cannot_be_used_is_refused(tmp_path, text, problem):
    file = tmp_path / "prices.toml"
    file.write_text(text)

    with pytest.raises(BadInput, match=re.escape(problem)):
        read_costs(file)


@pytest.mark.parametrize("urls", ["0", "-1", "many"])
def test_a_plan_of_nothing_is_refused(urls):
    assert CliRunner().invoke(plan_command, ["--urls", urls, "--domains", "1"]).exit_code == 2


def test_amounts_are_short():
    assert [amount(n) for n in (0.123, 2, 9.87, 1653.4)] == ["0.12", "2", "9.9", "1,653"]
