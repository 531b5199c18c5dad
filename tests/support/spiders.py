"""Scrapy processes that run a spider with a private Redis and a loopback site."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import quotes_site
from tests.support.origin import Origin
from tests.support.punctual_origin import PunctualOrigin

DATA = Path(__file__).parent.parent / "data"
QUOTESBOT = DATA / "quotesbot"
AUTHORS = DATA / "spiders" / "authors.py"
LISTED = DATA / "spiders" / "listed.py"


@dataclass
class Spiders:
    """Starts Scrapy processes, and ends them."""

    folder: Path
    environ: Mapping[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, *command: str, settings: Mapping[str, Any], cwd: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start `scrapy COMMAND…` with these settings. Tables are passed as JSON."""
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in settings.items()}
        given = {"TELNETCONSOLE_ENABLED": "0", **texts}
        number = len(self.processes)
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "scrapy", *command),
                *(part for each in given.items() for part in ("-s", "=".join(each))),
                *("-O", str(self.folder / f"items-{number}.jl")),
            ],
            cwd=cwd or self.folder,
            env={**self.environ},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / f"{number}.log").open("wb"),
        )
        self.processes.append(process)
        return process

    def finish(self, expected: Sequence[int] = (0,)) -> None:
        """Wait until all have ended, with an expected exit code."""
        codes = [process.wait(300) for process in self.processes]
        assert set(codes) <= set(expected), self.logs()

    def items(self) -> list[dict[str, str]]:
        """Return all items of the feeds."""
        return [
            json.loads(line)
            for path in sorted(self.folder.glob("items-*.jl"))
            for line in path.read_text().splitlines()
        ]

    def logs(self) -> str:
        """Return the logs of the processes."""
        return "\n".join(path.read_text()[-6000:] for path in sorted(self.folder.glob("*.log")))


@contextmanager
def spiders_of(
    folder: Path, redis_url: str, origin: PunctualOrigin | Origin, **extra: str
) -> Iterator[Spiders]:
    """Run spiders whose requests to the quotes site go to `origin`. `extra` are ARAGOG_ settings."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ARAGOG_", "SCRAPY_")) and not name.lower().endswith("_proxy")
    }
    environ = {
        **ours,
        "ARAGOG_SETTINGS": "",
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_REDIS__URL": redis_url,
        "ARAGOG_BROKER__URL": f"pinlater+socket://{redis_url.removeprefix('unix://')}",
        **way_to(origin),
        **{f"ARAGOG_{name}": value for name, value in extra.items()},
    }
    with spiders_in(folder, environ) as spiders:
        yield spiders


def way_to(origin: PunctualOrigin | Origin) -> dict[str, str]:
    """Return the settings with which requests to the quotes site go to `origin`."""
    return {
        "ARAGOG_FETCH__HOST_MAP": f"{quotes_site.HOST}=127.0.0.1:{origin.port}",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
    }


@contextmanager
def spiders_in(folder: Path, environ: Mapping[str, str]) -> Iterator[Spiders]:
    """Run spiders with these variables. Their feeds and logs are in `folder`."""
    root = str(Path(__file__).parent.parent.parent)
    spiders = Spiders(folder, {**environ, "PYTHONPATH": root})
    try:
        yield spiders
    finally:
        for process in spiders.processes:
            process.kill()
            process.wait()
