"""
Do three jobs with aragog and with Scrapy in turn, from the command to the complete file.

`products` writes six fields of 2,000 given pages of one shop to CSV, `hosts` the titles of 100
hosts with 50 pages each, `documentation` the pages of a documentation site as Markdown. Both sides
send a host at most 20 requests per second, obey robots.txt and start from nothing: no system runs,
no folder exists. What a person has to write is in `programs/`, and its lines are counted, including
the command.

    python -m bench.to_file [--job JOB ...] [--side SIDE ...] [--pages N] [--rounds 1]

It prints for each: seconds until the file is complete and until the command has ended, CPU seconds
of all its processes, lines, right rows, and the most requests that one host received in a second.
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
LIMIT_S = 900
SEEDS = 2
"""Extra rows: the start page, under its two URLs."""
SHOWN = "{job:14} {side:7} {file:>7} {end:>7} {cpu:>7} {lines:>5} {rows:>14} {most:>6}"


class Done(NamedTuple):
    """One job done by one side."""

    file_s: float
    """Seconds from the command until its file was complete."""
    end_s: float
    """Seconds until the command had ended."""
    cpu_s: float
    lines: int
    right: int
    rows: int
    most: int
    """The most requests to one host in a second."""


def environment(side: str, folder: Path, port: int) -> dict[str, str]:
    """Return the environment of the measurement: names resolve to this machine, ports are free."""
    own = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("ARAGOG_") and name != "PYTHONDONTWRITEBYTECODE"
    } | {"PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "pycache")}
    if side == "scrapy":
        return own | {
            "PATH": f"{SCRAPY}:{own['PATH']}",
            "PYTHONPATH": str(PROGRAMS / "scrapy"),
            "SCRAPY_SETTINGS_MODULE": "loopback",
        }
    return own | {
        "PATH": f"{ARAGOG}:{own['PATH']}",
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
        "ARAGOG_FETCH__ALLOWED_PORTS": f"80,443,{port}",
        **{
            f"ARAGOG_SERVING__{name}_PORT": str(origin.free_port())
            for name in ("HTTP", "THRIFT", "FLOWER")
        },
    }


def do(job: Job, side: str, folder: Path) -> Done:
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
            cpu_s, started_s, began_s = _cpu_s(), time.time(), time.monotonic()
            ran = subprocess.run(
                ["sh", "-c", command], cwd=folder, env=environment(side, folder, port),
                stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, timeout=LIMIT_S, check=False,
            )  # fmt: skip
            end_s, cpu_s = time.monotonic() - began_s, _cpu_s() - cpu_s
    output = folder / job.output
    if ran.returncode or not output.exists():
        sys.exit(f"{command} failed:\n{(folder / 'printed').read_text()[-3000:]}")
    file_s = output.stat().st_mtime - started_s
    return Done(file_s, end_s, cpu_s, lines, *job.right_rows(folder), _max_in_a_second(log))


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _max_in_a_second(log: Path) -> int:
    lines = re.findall(r"^(\d+)\.\d+ \S+ ([^/\s]+)", log.read_text(), re.MULTILINE)
    return max(Counter(lines).values(), default=0)


def shown(job: Job, side: str, done: Done) -> str:
    """Return a row of the table."""
    rows = f"{done.right} of {len(job.expected)}"
    times = {n: f"{s:.1f}" for n, s in (("file", done.file_s), ("end", done.end_s))}
    return SHOWN.format(
        job=job.name, side=side, cpu=f"{done.cpu_s:.1f}", lines=done.lines, rows=rows,
        most=done.most, **times,
    )  # fmt: skip


HEAD: Mapping[str, str] = {
    "job": "job", "side": "side", "file": "file s", "end": "end s", "cpu": "CPU s",
    "lines": "lines", "rows": "right rows", "most": "most/s",
}  # fmt: skip


def warm_up(job_name: str, sides: Sequence[str], folder: Path) -> None:
    """Compile the Python modules that both sides import, as an installation does."""
    job = ALL[job_name][0](folder / f"{job_name}-warm", 2)
    for side in sides:
        own = folder / f"{job_name}-{side}-warm"
        own.mkdir()
        do(job, side, own)


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
        sys.exit("Scrapy is missing: run scripts/setup bench")
    print(SHOWN.format(**HEAD))
    wrong: list[str] = []
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
                    done = do(job, side, folder)
                    print(shown(job, side, done), flush=True)
                    if done.right < len(job.expected) or done.rows > len(job.expected) + SEEDS:
                        wrong.append(f"{job_name}, {side}: {done.rows} rows, {done.right} right")
    if wrong:
        sys.exit("\n".join(["a file is not what it should be:", *wrong]))


if __name__ == "__main__":
    main()
