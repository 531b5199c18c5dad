"""What is refused before the system starts anything."""

import subprocess
import sys

import pytest

from aragog.errors import ConfigError
from aragog.settings import load_settings
from aragog.standalone import system

OFF = {"HTTP_PORT": "0", "THRIFT_PORT": "0", "FLOWER_PORT": "0"}


def settings_with(tmp_path, file=None, **more):
    ports = {f"ARAGOG_SERVING__{name}": text for name, text in OFF.items()}
    return load_settings(environ={**ports, "ARAGOG_DATA_DIR": str(tmp_path), **more}, path=file)


def test_crawl_log_without_its_library_is_refused(tmp_path, monkeypatch):
    """Regression: the rows filled Redis, and no file was ever written."""
    settings = settings_with(tmp_path, ARAGOG_CRAWL_LOG__ENGINE="folder")
    system.check(settings)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ConfigError, match=r'crawl_log.engine = "folder" needs pyarrow'):
        system.check(settings)
    system.check(settings_with(tmp_path))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            """[fetch.sign_in."http://members.test"]
            form = "/login"
            fields = { user = "env:NO_SUCH_VARIABLE" }""",
            "fetch.sign_in.http://members.test.fields.user",
        ),
        (
            """[egress.ways.a]
            proxy = "http://127.0.0.1:9"
            login = "env:NO_SUCH_VARIABLE"
            """,
            "NO_SUCH_VARIABLE",
        ),
    ],
)
def test_missing_login_is_refused_before_tasks_fail(tmp_path, table, message):
    """Regression: nothing was fetched from any site, and only task tracebacks gave the reason."""
    file = tmp_path / "aragog.toml"
    file.write_text(table)
    settings = settings_with(tmp_path, file)

    with pytest.raises(ConfigError, match=message):
        system.check(settings)


def test_supervisor_does_not_import_libraries_of_its_children():
    """Regression: they used 28 MB for as long as the system ran."""
    shown = subprocess.run(
        [sys.executable, "-c", "import sys, aragog.cli.up; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert {"redis", "celery", "requests", "selectolax", "cryptography"}.isdisjoint(shown.split())
