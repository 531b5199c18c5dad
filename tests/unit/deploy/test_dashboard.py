"""The Grafana dashboard, the alerts and the operations page refer only to things that exist."""

import json
import re
from pathlib import Path

import flower.events
import pytest
import yaml

from scripts.reference_docs import metrics_in_code

ROOT = Path(__file__).parents[3]
DASHBOARD = (ROOT / "deploy/grafana/aragog.json").read_text()
ALERTS = (ROOT / "deploy/prometheus/alerts.yml").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()


EXPRESSIONS = [
    *(t["expr"] for panel in json.loads(DASHBOARD)["panels"] for t in panel.get("targets", ())),
    *(r["expr"] for group in yaml.safe_load(ALERTS)["groups"] for r in group["rules"]),
]
ENDINGS = {"counter": (), "gauge": (), "histogram": ("_bucket", "_sum", "_count")}
METRICS = {
    metric.name + ending: metric
    for metric in metrics_in_code()
    for ending in ENDINGS[metric.type] or ("",)
}
# A label of Prometheus itself, and the upper bound of a histogram bucket.
LABELS = {"job", "le"}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_query_uses_existing_metrics_and_labels(expression):
    named = set(re.findall(r"\baragog_\w+", expression))
    flowers = set(re.findall(r"\bflower_\w+", expression))
    labels = set(re.findall(r"(\w+)(?:=~|!=|=)\"", expression)) | {
        label for by in re.findall(r"by \(([^)]*)\)", expression) for label in by.split(", ")
    }

    known = LABELS | {label for name in named for label in METRICS[name].labels}
    source = Path(flower.events.__file__).read_text()
    assert named or flowers
    assert all(name.removesuffix("_bucket") in source for name in flowers)
    assert labels <= known | ({"task"} if flowers else set())


def test_counters_are_queried_by_rate():
    for expression in EXPRESSIONS:
        for name in re.findall(r"\baragog_\w+_(?:total|bucket)\b", expression):
            assert re.search(rf"(rate|increase)\({name}\b", expression), expression


def test_dashboard_is_complete():
    panels = json.loads(DASHBOARD)["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["targets"] for panel in panels if panel["type"] != "row")


def test_every_alert_links_to_its_section_of_the_operations_page():
    rules = [rule for group in yaml.safe_load(ALERTS)["groups"] for rule in group["rules"]]
    sections = {
        re.sub(r"\W+", "-", part.partition("\n")[0].lower()): part
        for part in OPERATIONS.split("\n## ")[1:]
    }

    assert rules
    for rule in rules:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert page == "docs/operations.md"
        assert f"*{rule['alert']}" in sections[anchor], rule["alert"]


def test_operations_page_mentions_no_other_alert():
    rules = [rule for group in yaml.safe_load(ALERTS)["groups"] for rule in group["rules"]]
    named = re.findall(r"\*([A-Z][a-z]+[A-Z]\w+)", OPERATIONS)

    assert set(named) - {rule["alert"] for rule in rules} == set()


def test_operations_page_mentions_only_existing_commands_and_settings():
    from aragog.cli import COMMANDS
    from aragog.settings import Settings

    commands = set(re.findall(r"`aragog ([\w-]*\w)", OPERATIONS))
    settings = Settings()
    named = re.findall(
        r"`(broker|redis|politeness|fetch|store|pipeline|serving)\.(\w+)`", OPERATIONS
    )

    assert commands <= set(COMMANDS)
    assert [pair for pair in named if not hasattr(getattr(settings, pair[0]), pair[1])] == []
