"""When each alert fires, and when it does not, checked with `promtool test rules`."""

import shutil
import subprocess
from pathlib import Path

import yaml

from tests.support.missing_parts import PROMETHEUS, unless

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy/prometheus/alerts.yml"

# A system for which each alert should fire, and one for which none should; in promtool's notation,
# `a+bxn` is a, followed by n samples that increase by b. Both are evaluated after two hours, with
# one sample per minute.
URLS, EVENTS, SLOTS = "aragog_urls_total", "aragog_queue_events_total", "aragog_slots_total"
BAD = {
    'aragog_shard_up{shard="1"}': "0x120",
    'aragog_part_outage{part="store"}': "1x120",
    # aragog_in_flight is missing
    'aragog_oldest_due_age_seconds{queue="store"}': "600x120",
    'aragog_queue_paused{queue="store"}': "0x120",
    'aragog_queue_paused{queue="fetch"}': "1x120",
    URLS + '{event="fetched"}': "0x120",
    'aragog_jobs_due{queue="fetch"}': "3x120",
    EVENTS + '{queue="store",event="expired"}': "0+1x120",
    EVENTS + '{queue="store",event="failed"}': "0x100 1x20",
    'aragog_domain_refusing_seconds{domain="shop.example"}': "4000x120",
    SLOTS + '{event="used"}': "0x120",
    SLOTS + '{event="reserved"}': "0+9x120",
    "aragog_refresh_lag_seconds": "4000x120",
    "aragog_crawl_log_lag_seconds": "4000x120",
    "aragog_compaction_lag_seconds": "1000x120",
    'aragog_redis_used_bytes{server="a"}': "9x120",
    'aragog_redis_max_bytes{server="a"}': "10x120",
    "aragog_disk_free_bytes": "4e9x120",
}
GOOD = {
    'aragog_shard_up{shard="1"}': "1x120",
    'aragog_part_outage{part="store"}': "0x120",
    "aragog_in_flight": "0x120",
    'aragog_oldest_due_age_seconds{queue="store"}': "600x120",  # but paused for 40 minutes
    'aragog_queue_paused{queue="store"}': "0x80 1x40",
    URLS + '{event="failed"}': "0+1x120",
    'aragog_jobs_due{queue="fetch"}': "3x120",
    EVENTS + '{queue="store",event="expired"}': "0x115 4x5",
    EVENTS + '{queue="store",event="failed"}': "0x20 1x100",
    'aragog_domain_refusing_seconds{domain="shop.example"}': "600x120",
    SLOTS + '{event="used"}': "0+9x120",
    SLOTS + '{event="reserved"}': "0+10x120",
    "aragog_refresh_lag_seconds": "40x120",
    "aragog_crawl_log_lag_seconds": "600x120",
    "aragog_compaction_lag_seconds": "10x120",
    'aragog_redis_used_bytes{server="a"}': "8x120",
    'aragog_redis_max_bytes{server="a"}': "10x120",
    "aragog_disk_free_bytes": "6e9x120",
}


def with_job_label(series):
    name, _, labels = series.partition("{")
    return f'{name}{{job="aragog",{labels or "}"}'


def case(series, alerts, firing):
    return {
        "interval": "1m",
        "input_series": [
            {"series": with_job_label(labels), "values": v} for labels, v in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                "eval_time": "2h",
                "exp_samples": [{"labels": "{}", "value": firing}],
            }
            for alert in alerts
        ],
    }


@unless(shutil.which("promtool"), PROMETHEUS)
def test_each_alert_fires_only_when_it_should(tmp_path):
    groups = yaml.safe_load(RULES.read_text())["groups"]
    alerts = [rule["alert"] for group in groups for rule in group["rules"]]
    tests = [case(BAD, alerts, 1), case(GOOD, alerts, 0)]
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": tests}))

    done = subprocess.run(
        ["promtool", "test", "rules", tmp_path / "test.yml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
