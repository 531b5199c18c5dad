"""
Do three jobs with aragog and with Scrapy in turn, from the command to the complete file.

`products` writes six fields of 2,000 given pages of one shop to CSV, `hosts` the titles of 100
hosts with 50 pages each, `documentation` the pages of a documentation site as Markdown. Both sides
send a host at most 20 requests per second, obey robots.txt and start from nothing: no system runs,
no folder exists. What a person has to write is in `programs/`, and its lines are counted, including
the command.

    python -m bench.to_file [--job JOB ...] [--side SIDE ...] [--pages N] [--rounds 1]

It prints for each: seconds until the file is complete and until the command has ended, CPU seconds
of all its processes, lines, correct rows, and the maximum number of requests that one host received in a second.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.crawl import origin
from bench.crawl.page_sets import ROOT
from bench.quick import add_quick
from bench.to_file.jobs import ALL, Job

PROGRAMS = Path(__file__).parent / "programs"
SCRAPY = ROOT / ".venv-bench" / "bin"
ARAGOG = Path(sys.executable).parent
ENDINGS = {"aragog": "toml", "scrapy": "py"}
MAX_JOB_S = 900
MAX_EXTRA_ROWS = 2
"""Extra rows: the start page, under its two URLs."""
ROW_FORMAT = (
    "{job:14} {side:7} {file:>7} {end:>7} {cpu:>7} {lines:>5} {rows:>14} {max_requests_s:>6}"
)


class JobResult(NamedTuple):
    """The result of one job on one side."""

    file_s: float
    """Seconds from the command until its file was complete."""
    end_s: float
    """Seconds until the command had ended."""
    cpu_s: float
    lines: int
    correct: int
    rows: int
    max_requests_s: int
    """The maximum number of requests to one host in a second."""


def environment(side: str, folder: Path, port: int) -> dict[str, str]:
    """Return the environment of the measurement: names resolve to this machine, ports are free."""
    environ = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("ARAGOG_") and name != "PYTHONDONTWRITEBYTECODE"
    } | {"PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "pycache")}
    if side == "scrapy":
        return environ | {
            "PATH": f"{SCRAPY}:{environ['PATH']}",
            "PYTHONPATH": str(PROGRAMS / "scrapy"),
            "SCRAPY_SETTINGS_MODULE": "loopback",
        }
    return environ | {
        "PATH": f"{ARAGOG}:{environ['PATH']}",
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
        "ARAGOG_FETCH__ALLOWED_PORTS": f"80,443,{port}",
        **{
            f"ARAGOG_SERVING__{name}_PORT": str(origin.free_port())
            for name in ("HTTP", "THRIFT", "FLOWER")
        },
    }


def run_job(job: Job, side: str, folder: Path) -> JobResult:
    """Do a job in an empty folder. Exits if its command fails."""
    program = PROGRAMS / side / f"{job.name}.{ENDINGS[side]}"
    command = (PROGRAMS / side / f"{job.name}.sh").read_text()
    lines = sum(bool(line.strip()) for line in (program.read_text() + command).splitlines())
    shutil.copy(program, folder / ("aragog.toml" if side == "aragog" else program.name))
    log = folder / "asked"
    directives = job.directives + f"access_log {log} asked;"
    with origin.serve(job.pages, directives) as port:
        (folder / "urls.txt").write_text(job.urls(port))
        with (folder / "printed").open("wb") as printed:
            cpu_s, started_s, started_monotonic_s = _cpu_s(), time.time(), time.monotonic()
            process = subprocess.run(
                ["sh", "-c", command], cwd=folder, env=environment(side, folder, port),
                stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, timeout=MAX_JOB_S, check=False,
            )  # fmt: skip
            end_s, cpu_s = time.monotonic() - started_monotonic_s, _cpu_s() - cpu_s
    output = folder / job.output
    if process.returncode or not output.exists():
        sys.exit(f"{command} failed:\n{(folder / 'printed').read_text()[-3000:]}")
    file_s = output.stat().st_mtime - started_s
    return JobResult(file_s, end_s, cpu_s, lines, *job.count_correct(folder), _max_in_a_second(log))


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _max_in_a_second(log: Path) -> int:
    lines = re.findall(r"^(\d+)\.\d+ \S+ ([^/\s]+)", log.read_text(), re.MULTILINE)
    return max(Counter(lines).values(), default=0)


def format_row(job: Job, side: str, result: JobResult) -> str:
    """Return a row of the table."""
    rows = f"{result.correct} of {len(job.expected)}"
    times = {n: f"{s:.1f}" for n, s in (("file", result.file_s), ("end", result.end_s))}
    return ROW_FORMAT.format(
        job=job.name, side=side, cpu=f"{result.cpu_s:.1f}", lines=result.lines, rows=rows,
        max_requests_s=result.max_requests_s, **times,
    )  # fmt: skip


HEADINGS: Mapping[str, str] = {
    "job": "job", "side": "side", "file": "file s", "end": "end s", "cpu": "CPU s",
    "lines": "lines", "rows": "correct rows", "max_requests_s": "max/s",
}  # fmt: skip


def warm_up(job_name: str, sides: Sequence[str], folder: Path) -> None:
    """Compile the Python modules that both sides import, as an installation does."""
    job = ALL[job_name][0](folder / f"{job_name}-warm", 2)
    for side in sides:
        side_folder = folder / f"{job_name}-{side}-warm"
        side_folder.mkdir()
        run_job(job, side, side_folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--job", choices=ALL, nargs="+", default=list(ALL))
    parser.add_argument("--side", choices=ENDINGS, nargs="+", default=list(ENDINGS))
    parser.add_argument("--pages", type=int, help="of each job; default: all")
    parser.add_argument("--rounds", type=int, default=1)
    add_quick(parser, pages=10, rounds=1)
    options = parser.parse_args()
    if "scrapy" in options.side and not (SCRAPY / "scrapy").exists():
        sys.exit("Scrapy is not installed: run scripts/setup bench")
    print(ROW_FORMAT.format(**HEADINGS))
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="atf") as name:
        for job_name in options.job:
            make, pages = ALL[job_name]
            job = make(Path(name, job_name), min(options.pages or pages, pages))
            if not options.quick:
                warm_up(job_name, options.side, Path(name))
            for number in range(options.rounds):
                for side in options.side:
                    folder = Path(name, f"{job_name}-{side}-{number}")
                    folder.mkdir()
                    result = run_job(job, side, folder)
                    print(format_row(job, side, result), flush=True)
                    if (
                        result.correct < len(job.expected)
                        or result.rows > len(job.expected) + MAX_EXTRA_ROWS
                    ):
                        failures.append(
                            f"{job_name}, {side}: {result.rows} rows, {result.correct} correct"
                        )
    if failures:
        sys.exit("\n".join(["a file has wrong rows:", *failures]))


if __name__ == "__main__":
    main()
