"""
Measure the cost of starting: CPU of commands, and CPU and memory of each process of `aragog up`.

    python -m bench.startup [--rounds 3]
    python -m bench.startup --rounds 1 --rest-s 60     memory of the idle processes

A separate system in a temporary folder, on free ports; Linux only. CPU is user and system time of
all processes, from the start of `aragog up` until it prints the addresses, and includes imports.
PSS divides each shared memory page among the processes that share it.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.quick import add_quick

COMMANDS = (
    ["--version"],
    ["--help"],
    ["show", "http://nowhere.test/"],
    ["status"],
    ["doctor", "--help"],
)
ARAGOG = [sys.executable, "-m", "aragog.cli"]


def cpu_of_command(arguments: list[str], environ: dict[str, str]) -> float:
    """Return the CPU seconds of one run of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*ARAGOG, *arguments], env=environ, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def run_aragog(environ: dict[str, str]) -> Iterator[int]:
    """Run `aragog up`. Yields its process id once it has printed its addresses."""
    process = subprocess.Popen([*ARAGOG, "up"], env=environ, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if line.startswith("API:"):
                break
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def process_tree(root: int) -> list[int]:
    """Return the process and its descendants."""
    pids = [root]
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            pids += map(int, (thread / "children").read_text().split())
    return pids


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of the process and its ended children."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")


def pss_mb(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 / 1e6


def process_usage(pid: int) -> tuple[str, float, float] | None:
    """Return title, CPU seconds and PSS of a process, or None if it has ended in the meantime."""
    try:
        return process_title(pid), cpu_s(pid), pss_mb(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None


def process_title(pid: int) -> str:
    """Return what `ps` shows, without the interpreter."""
    words = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").split()
    return " ".join(word for word in words if word not in {sys.executable, "-m"})[:60]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rest-s", type=float, default=0.0, help="wait before each measurement")
    add_quick(parser, rounds=1)
    options = parser.parse_args()
    rounds, starts = options.rounds, 1 if options.quick else 5
    console, totals = Console(), []
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ARAGOG_")},
            "ARAGOG_SETTINGS": "",
            "ARAGOG_DATA_DIR": folder,
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        }
        for number in range(rounds):
            with run_aragog(environ) as up_pid:
                time.sleep(options.rest_s)
                rows = [row for pid in process_tree(up_pid) if (row := process_usage(pid))]
                if number == rounds - 1:
                    table = Table("command", "CPU s, median", box=None)
                    for arguments in COMMANDS:
                        spent = [cpu_of_command(arguments, environ) for _ in range(starts)]
                        table.add_row(" ".join(arguments), f"{statistics.median(spent):.2f}")
                    console.print(table)
            totals.append(sum(cpu for _, cpu, _ in rows))
        table = Table("process", "CPU s", "PSS MB", box=None)
        for name, cpu, pss in rows:
            table.add_row(escape(name), f"{cpu:.2f}", f"{pss:.0f}")
        table.add_row("sum", f"{sum(r[1] for r in rows):.2f}", f"{sum(r[2] for r in rows):.0f}")
        console.print(table)
    console.print(f"CPU s of each round: {', '.join(f'{total:.2f}' for total in totals)}")


if __name__ == "__main__":
    main()
