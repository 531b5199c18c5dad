"""Which libraries a process imports, as each takes CPU time and memory."""

import subprocess
import sys

import pytest

STORES = {"boto3", "botocore", "happybase", "thriftpy2", "pyarrow"}
PARSERS = {"lxml", "chardet", "selectolax"}
FRONTS = {"flower", "tornado", "starlette", "uvicorn", "prometheus_client", "prompt_toolkit"}
QUEUES = {"celery", "kombu", "redis"}
HTTP = {"requests", "urllib3"}
TERMINAL = {"rich"}

COMMANDS = {
    "from aragog.cli import main; main(['--version'], standalone_mode=False)": (
        STORES | PARSERS | FRONTS | QUEUES | HTTP | TERMINAL
    ),
    "from aragog.cli import main; main(['--help'], standalone_mode=False)": (
        STORES | PARSERS | FRONTS | QUEUES | HTTP | TERMINAL
    ),
    "import aragog.cli.show": STORES | PARSERS | FRONTS | QUEUES | HTTP,
    "import aragog.cli.up": STORES | PARSERS | {"flower", "celery"} | HTTP,
    "import aragog.client": STORES | PARSERS | FRONTS | HTTP | TERMINAL,
    "import aragog.workers.__main__": STORES | PARSERS | FRONTS | HTTP | TERMINAL,
    "from aragog.workers.preload import preload; preload()": (
        STORES | FRONTS | TERMINAL | {"lxml"}
    ),
}


@pytest.mark.parametrize("code", COMMANDS)
def test_process_imports_only_the_libraries_it_uses(code):
    shown = f"{code}\nimport sys\nprint('MODULES', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    imported = {name.partition(".")[0] for name in done.stdout.partition("MODULES")[2].split()}

    assert imported & COMMANDS[code] == set()
