"""The error for importing an engine whose extra is not installed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("engine", "module"), [("postgres", "psycopg"), ("hbase", "happybase"), ("hbase", "thriftpy2")]
)
def test_engine_without_its_extra_shows_the_install_command(engine, module):
    code = f"import sys; sys.modules[{module!r}] = None; import zengraph.tables.{engine}"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.stderr.endswith(
        f"ModuleNotFoundError: {module} is not installed: pip install 'zengraph[{engine}]'\n"
    )
