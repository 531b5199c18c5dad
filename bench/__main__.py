"""
Run every measurement that the documentation names, in its short form: `python -m bench`.

Exits with 1 if one fails. Arguments select some: `python -m bench pages urls`.
"""

from __future__ import annotations

import subprocess
import sys
import time

COMMANDS = (
    "backpressure", "crawl", "enqueue", "extraction", "fetcher", "growth",
    "growth --engine hbase --content s3", "hedging", "limiter", "messages", "pages", "pinlater",
    "politeness", "politeness --urgent --raise-to 10", "refresh", "rendering", "robots", "serving",
    "serving_thrift", "shards", "ssrf", "startup", "urgency backlog", "urgency priority", "urls",
    "urlstore", "urlstore --engine hbase",
)  # fmt: skip
LAST_CHARS = 3000
LIMIT_S = 120  # each takes at most 20 s on an idle machine


def failure(command: str) -> str:
    """Run one; what it printed if it failed, else empty."""
    argv = [sys.executable, "-m", *f"bench.{command}".split(), "--quick"]
    began_s = time.monotonic()
    print(f"bench.{command} --quick …", end=" ", flush=True)
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        print(f"not ended after {LIMIT_S} s")
        return (error.output or b"").decode(errors="replace")[-LAST_CHARS:] or "no output"
    print(f"{time.monotonic() - began_s:.0f} s, exit {done.returncode}", flush=True)
    return (done.stdout[-LAST_CHARS:] or "no output") if done.returncode else ""


def main(selected: list[str]) -> int:
    """Run those whose module is selected, or all; the exit status."""
    commands = [c for c in COMMANDS if not selected or c.split()[0] in selected]
    failures = {command: failed for command in commands if (failed := failure(command))}
    for command, output in failures.items():
        print(f"\n== bench.{command}\n{output}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
