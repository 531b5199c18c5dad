"""`make plan-check`: measured costs compared with those of costs.toml."""

import json

import pytest

from aragog.addons.plan.costs import Cost, read_costs
from bench import figures, plan_check
from bench.plan_check import REFERENCE, Measured, commands, compare

COSTS = {
    REFERENCE: Cost(20.0, "ms", "python -m bench.reference"),
    "fetch": Cost(1.0, "CPU ms", "a", "crawl --rounds 1", scale="time"),
    "store": Cost(2.0, "CPU ms", "a", "crawl --rounds 1", scale="time"),
    "rows": Cost(6.0, "rows", "b", "growth --rows"),
    "rows_per_s": Cost(1000.0, "rows/s", "c", "urlstore", "Java", "rate"),
    "price": Cost(5.0, "USD", "a list"),
}


def off(name, value, reference_ms):
    (only,) = compare(COSTS, {name: Measured(value, reference_ms)})
    return only.off


def test_machine_half_as_fast_may_take_twice_the_time():
    assert off("fetch", 2.0, reference_ms=40.0) == 0
    assert off("fetch", 1.0, reference_ms=40.0) == -0.5
    assert off("rows_per_s", 500.0, reference_ms=40.0) == 0


def test_sizes_do_not_depend_on_the_machine():
    assert off("rows", 9.0, reference_ms=40.0) == 0.5


def test_largest_deviation_comes_first():
    measured = {"fetch": Measured(1.1, 20), "rows": Measured(3, 20), "store": Measured(2.5, 20)}

    assert [each.name for each in compare(COSTS, measured)] == ["rows", "store", "fetch"]


def test_command_runs_once_for_all_its_costs():
    assert commands(COSTS, []) == {
        "crawl --rounds 1": ["fetch", "store"],
        "growth --rows": ["rows"],
    }


@pytest.mark.parametrize(
    ("only", "expected"),
    [(["store"], {"crawl --rounds 1": ["store"]}), (["urlstore"], {"urlstore": ["rows_per_s"]})],
)
def test_only_selects_costs_and_commands(only, expected):
    assert commands(COSTS, only) == expected


@pytest.fixture
def main(tmp_path):
    """Runs the command with these figures instead of a measurement; returns its status."""

    def go(measured, *arguments):
        file = tmp_path / "measured.json"
        file.write_text(json.dumps(measured))
        return plan_check.main(["--measured", str(file), *arguments])

    return go


def test_deviating_costs_are_printed_and_fail_only_with_strict(main, capsys):
    costs = read_costs()
    reference_ms = costs[REFERENCE].value
    measured = {
        "tls_full": [costs["tls_full"].value * 1.5, reference_ms],
        "hbase_rows": [costs["hbase_rows"].value, reference_ms],
    }

    assert main(measured) == 0
    assert "2 costs measured, 1 off by more than 20%: tls_full" in capsys.readouterr().out
    assert main(measured, "--strict") == 2
    assert main({"hbase_rows": measured["hbase_rows"]}, "--strict") == 0


def test_missing_figure_is_a_failure():
    measured, failures = plan_check.measure({"crawl": ["fetch", "store"]}, lambda _: {"fetch": 1.0})

    assert measured == {}
    assert failures == {"crawl": "reported no store"}


def test_real_command_reports_its_cost():
    found = plan_check.run("reference", quick=False)

    assert found[REFERENCE] > 0


def test_failing_command_reports_the_cause():
    with pytest.raises(RuntimeError, match="no-such-option"):
        plan_check.run("plan_costs --no-such-option")


def test_every_cost_with_a_command_is_reported_by_it():
    """Searched by name: each `check` is a module of bench whose source reports the cost."""
    sources = {
        "crawl": "bench/crawl/report.py", "urlstore": "bench/urlstore.py",
    }  # fmt: skip
    for name, cost in read_costs().items():
        if not cost.check:
            continue
        module = cost.check.split()[0]
        root = plan_check.Path(plan_check.__file__).parents[1]
        texts = [(root / sources.get(module, f"bench/{module}.py")).read_text()]
        texts += [(root / f"bench/{each}_engine.py").read_text() for each in ("postgres", "hbase")]
        assert name in "".join(texts) or name.endswith("_get"), name


def test_figures_are_written_only_on_request(monkeypatch, tmp_path):
    file = tmp_path / "figures"
    monkeypatch.delenv(figures.VARIABLE, raising=False)
    figures.report(fetch=1.0)
    assert figures.read(file) == {}

    monkeypatch.setenv(figures.VARIABLE, str(file))
    figures.report(fetch=1.0, store=2.0)
    figures.report(fetch=3.0)
    assert figures.read(file) == {"fetch": 3.0, "store": 2.0}
