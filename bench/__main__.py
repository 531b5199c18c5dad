"""
Run every measurement that the documentation names, in its short form: `python -m bench`.

Exits with 1 if one fails twice, because a short run on a busy machine may fail for lack of time.
Arguments select some: `python -m bench pages urls`. Three run at a time; this only checks that
they run, and most of them wait for their servers half of the time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

COMMANDS = (
    # These take 10 to 70 s. The longest comes first, so that no other is left when it has ended.
    "to_file", "crawls faults --broker postgres", "crawls faults --broker redis", "startup",
    "slow_origin", "pinlater", "crawl", "growth_in_turn", "urgency backlog", "backpressure",
    "pinlater_postgres", "zen", "growth --engine hbase --content s3", "urlstore --engine hbase",
    "serving", "pages", "tracing", "pack_dictionaries", "serving_thrift", "urgency domain",
    "urgency priority", "fan_out", "busy_reads", "fetch_process", "shards", "packs",
    "plan_check",
    # These take less.
    "batch_reads", "compactors", "crawls memory", "enqueue", "extraction", "fetcher", "growth",
    "growth_of_lists", "growth_windows", "hedging", "host_keys", "invariants", "latency", "limiter",
    "long_lists", "main_text_sets", "messages", "page_annotations", "page_lists", "page_text",
    "pinlater_bloat", "plan_costs", "politeness", "politeness --urgent --raise-to 10",
    "redis_client", "reference", "refresh", "rendering", "robots", "shared_dictionaries",
    "shares simulate", "signals", "signals_origin", "signing", "simulate", "ssrf", "store_cpu",
    "store_stage", "site_editions", "site_growth", "site_leaves", "tls", "traps", "urls", "urlstore", "value_invariants",
)  # fmt: skip
LAST_CHARS = 3000
LIMIT_S = 300
MAX_PARALLEL = 3


def run_and_report(command: str) -> str:
    """Run one measurement. Returns its output if it failed, else an empty string."""
    argv = [sys.executable, "-m", *f"bench.{command}".split(), "--quick"]
    started_s = time.monotonic()
    # A session of its own, because some measurements end their whole process group.
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    timer = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    output, _ = process.communicate()
    timer.cancel()
    took_s = time.monotonic() - started_s
    print(f"bench.{command} --quick … {took_s:.0f} s, exit {process.returncode}", flush=True)
    return (output[-LAST_CHARS:] or "no output") if process.returncode else ""


def main(selected: list[str]) -> int:
    """Run the selected measurements, or all. Returns the exit status."""
    commands = [c for c in COMMANDS if not selected or c.split()[0] in selected]
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        outputs = zip(commands, pool.map(run_and_report, commands), strict=True)
        failures = {command: text for command, text in outputs if text}
    still_failing = False
    for command, output in failures.items():
        print(f"\n== bench.{command}\n{output}")
        still_failing |= bool(run_and_report(command))
    return 1 if still_failing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
