"""Run `aragog run` on a site of this machine, in the user's folder, in its own process group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.ports import free_port

LIMIT_S = 180
Start = Callable[..., "subprocess.Popen[str]"]


def starter(address: str, folder: Path) -> Start:
    """Return a function that starts `aragog run urls.txt --stop …`. `*.test` is at `address`."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("ARAGOG_")}
    environ = ours | {
        "ARAGOG_SETTINGS": "",
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test={address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        "COLUMNS": "200",
    }

    def started(
        *arguments: str, qps: float = 100, servers_after_s: float = 10.0, **variables: str
    ) -> subprocess.Popen[str]:
        code = f"from aragog.cli import main, run; run.SERVER_START_DELAY_S = {servers_after_s}; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, "run", "urls.txt", "--stop", *arguments],
            cwd=folder, env=environ | {"ARAGOG_POLITENESS__QPS": str(qps)} | variables, process_group=0,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return started
