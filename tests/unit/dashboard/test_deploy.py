"""The Grafana dashboard, the alerts and the operations page speak of what there is."""

import json
import re
from pathlib import Path

import pytest

from aragog.dashboard import metrics

ROOT = Path(__file__).parents[3]
DASHBOARD = (ROOT / "deploy/grafana/aragog.json").read_text()
ALERTS = (ROOT / "deploy/prometheus/alerts.yml").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()


@pytest.mark.parametrize("text", [DASHBOARD, ALERTS], ids=["dashboard", "alerts"])
def test_every_figure_asked_for_is_told(text):
    told = set(re.findall(r'"(aragog_\w+)"', Path(metrics.__file__).read_text()))

    asked = {name.removesuffix("_total") for name in re.findall(r"\baragog_\w+", text)}

    assert asked <= told


def test_the_dashboard_is_whole():
    panels = json.loads(DASHBOARD)["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["targets"] for panel in panels if panel["type"] != "row")


def test_every_alert_has_its_place_in_the_operations_page():
    alerts = re.findall(r"- alert: (\w+)", ALERTS)

    assert alerts
    assert [name for name in alerts if name not in OPERATIONS] == []


def test_the_operations_page_names_commands_and_settings_that_exist():
    from aragog.cli import COMMANDS
    from aragog.settings import Settings

    commands = set(re.findall(r"`aragog (\w+)", OPERATIONS))
    settings = Settings()
    named = re.findall(
        r"`(broker|redis|politeness|fetch|store|pipeline|serving)\.(\w+)`", OPERATIONS
    )

    assert commands <= set(COMMANDS)
    assert [pair for pair in named if not hasattr(getattr(settings, pair[0]), pair[1])] == []
