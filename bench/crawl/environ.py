"""Set up the environment of the standalone system for a benchmark."""

from __future__ import annotations

import os
from pathlib import Path


def use_environ(port: int, folder: Path) -> None:
    """Keep data in `folder` and fetch all hosts from an origin on `port`."""
    os.environ.update(
        {
            "ARAGOG_DATA_DIR": str(folder),
            "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
            "ARAGOG_FETCH__ALLOWED_PORTS": f"80,443,{port}",
            "ARAGOG_FETCH__USER_AGENT": "bench (+http://bench.test/)",
            "ARAGOG_SETTINGS": "",
        }
    )
