"""
Run every target of the Makefile in a short form: `python3 scripts/try_targets.py`.

It prints what it runs and how long that took, and exits with 1 if one fails. Arguments select
some: `python3 scripts/try_targets.py dist s3`. The targets in `ALONE` run one after another; then
the others run two at a time, because most of them wait for their servers. `alone` and `parallel`
select one of these groups; `.ci/run` runs the second one beside the measurements. It runs the
targets in `RUN_BY_CI` itself, and the measurements in `MEASURED` by `python -m bench`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
RUN_BY_CI = {
    "bare", "run", "setup", "docs", "check", "lint", "types", "layers", "test", "libraries",
}  # fmt: skip
"""
`make run` runs on the bare machine. `make check` consists of `lint`, `types`, `layers` and `test`,
which begins with `libraries`.
"""
LIMIT_S = 900
LAST_CHARS = 3000

MEASURED = {"bench": "bench.crawl", "crawls": "bench.crawls", "plan-check": "bench.plan_check"}
"""Maps a measurement's target to its module, which only has to start here."""

# Shell commands. FOLDER is a temporary folder.
SHORT = {
    "help": "make help",
    "up": "make up & make=$!; until .venv/bin/aragog status >/dev/null 2>&1; do sleep 1; done; "
    "make down; wait $make",
    # Most of its time is the collection: here, only that of the folders that begin with w.
    "unit": "make unit ARGS='-q -n 0 -k niceness --ignore-glob=tests/unit/[!w]*'",
    "fix": "make fix && git diff --exit-code",
    "lock": "make lock && git diff --exit-code",
    "dist": "make dist try-wheel",
    "chart": "make chart ARGS=--write-only && git diff --exit-code",
    "release-check": "make release-check",
    "pinlater-dist": "make pinlater-dist",
    # Those that take longest come first, so that no other is left when they have ended.
    "fleet": "make fleet HOSTS=5 ARGS='--urls 500 --rate 20 --cut-s 10'",
    "two-hosts": "make two-hosts && make two-hosts STORE=postgres",
    "chaos": "cp docs/reliability.md $FOLDER/chaos.md && "
    'make chaos ARGS="--report $FOLDER/chaos.md --urls 500 --domains 20 redis-killed"',
    "archives": "make archives ARGS='--pages 20'",
    "platforms": "make platforms ARGS='--python 3.14 --platform aarch64-manylinux_2_28'",
    "hbase": 'make hbase ARGS="--folder $FOLDER/hbase --port 0"',
    "kafka": 'make kafka ARGS="--folder $FOLDER/kafka --port 0"',
    "screenshots": "make screenshots IMAGES=$FOLDER/images",
    "clean": "git clone -q . $FOLDER/clone && make -C $FOLDER/clone clean",
    "s3": 'make s3 ARGS="--folder $FOLDER/s3 --port 0"',
    **{target: f"make {target} ARGS=--help" for target in MEASURED},
}
# `make up` and `make down` are tried together, and so are the two targets of a wheel.
TOGETHER = {"up": {"up", "down"}, "dist": {"dist", "try-wheel"}}
# These write into the checkout or serve on the default ports.
ALONE = {
    "help", "up", "unit", "fix", "lock", "dist", "chart", "release-check",
    "pinlater-dist",
}  # fmt: skip
MAX_PARALLEL = 2
# These run until they are interrupted, after this line.
UNTIL_STOPPED = {"hbase": "Ctrl-C stops it", "kafka": "Ctrl-C stops it", "s3": "Ctrl-C stops it"}


def targets() -> set[str]:
    """Return the documented targets of the Makefile."""
    text = (PROJECT / "Makefile").read_text()
    return set(re.findall(r"^([a-z0-9-]+):.*## ", text, re.MULTILINE))


def covered_targets() -> set[str]:
    """Return the targets that this script runs."""
    return set(SHORT) | {target for group in TOGETHER.values() for target in group}


def run(target: str, folder: Path) -> str:
    """Run a target in its short form. Returns its output if it failed, else an empty string."""
    environ = {**os.environ, "FOLDER": str(folder), "ARAGOG_DATA_DIR": str(folder / "var")}
    process = subprocess.Popen(
        ["bash", "-ec", SHORT[target]], cwd=PROJECT, env=environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    timer = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    lines = []
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    for line in process.stdout:
        lines.append(line)
        if UNTIL_STOPPED.get(target, "\0") in line:
            os.killpg(process.pid, signal.SIGINT)
    status = process.wait()
    timer.cancel()
    output = "".join(lines)
    # make does not exit with 0 when its command was interrupted.
    succeeded = UNTIL_STOPPED[target] in output if target in UNTIL_STOPPED else status == 0
    return "" if succeeded else output[-LAST_CHARS:] or f"exit {status}"


def try_target(target: str) -> str:
    """Run a target and print its duration. Returns the output if it failed, else an empty text."""
    started_s = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="ar"))
    failure = run(target, folder)
    shutil.rmtree(folder, ignore_errors=True)
    took_s = time.monotonic() - started_s
    print(f"make {target} … {'failed' if failure else 'ok'}, {took_s:.0f} s", flush=True)
    return failure


def main(selected: list[str]) -> int:
    """Run the selected targets, or all. Returns the exit status."""
    groups = {"alone": ALONE, "parallel": set(SHORT) - ALONE}
    if unknown := set(selected) - set(SHORT) - set(groups):
        sys.exit(f"try_targets: {', '.join(sorted(unknown))}: not a target that this script runs")
    named = set(selected or SHORT).union(*(groups.get(name, ()) for name in selected))
    targets = [target for target in SHORT if target in named]
    outputs = {target: try_target(target) for target in targets if target in ALONE}
    parallel = [target for target in targets if target not in ALONE]
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        outputs |= dict(zip(parallel, pool.map(try_target, parallel), strict=True))
    failures = {target: output for target, output in outputs.items() if output}
    for target, output in failures.items():
        print(f"\n== make {target}\n{output}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
