"""The wheel, as used by somebody with Python and an empty folder."""

import json
import subprocess
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support import wheels
from tests.support.documented import blocks
from tests.support.standalone import free_port

pytestmark = [pytest.mark.redis, pytest.mark.slow]

LAMP = "http://www.shop.test/p/brass-lamp"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return wheels.build_release(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> list[Path]:
    return wheels.build_libraries(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="module")
def installed(wheel, libraries, tmp_path_factory):
    """
    The bin folder of a clean environment with the wheel, and the environment variables to run it
    in.
    """
    folder = tmp_path_factory.mktemp("clean")
    env = wheels.without_compiler(folder)
    return wheels.install(folder / "venv", wheel, *libraries, env=env), {
        **env,
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
    }


def test_wheel_installs_only_the_name_aragog(wheel):
    assert wheels.top_level(wheel) == {"aragog"}


def test_documented_pip_command_installs_it_with_its_libraries(wheel, libraries, tmp_path):
    (command,) = blocks("docs/deployment.md", "sh", "pip install dist/*.whl")

    venv = wheels.pip_installs(command, [wheel, *libraries], tmp_path)

    assert wheels.from_files(venv) == {path.name for path in (wheel, *libraries)}
    wheels.run(venv / "bin" / "aragog", "--version", cwd=tmp_path)
    report = wheels.run(venv / "bin" / "celery", "-A", "workers", "report", cwd=tmp_path)
    assert "aragog.tasks.fetch" in report.stdout


def test_second_build_has_the_same_bytes(wheel, tmp_path):
    assert wheels.build_release(tmp_path).read_bytes() == wheel.read_bytes()


def test_bill_of_materials_is_installed_with_it(installed):
    bin_, _ = installed

    (bill,) = bin_.parent.glob("lib/python*/site-packages/*.dist-info/sboms/aragog.cdx.json")

    assert json.loads(bill.read_text())["metadata"]["component"]["name"] == "aragog-crawler"


def test_wheel_is_not_named_like_another_project(wheel):
    assert wheel.name.startswith("aragog_crawler-")


def test_pages_and_messages_name_the_extras_of_this_project():
    pages = [*wheels.ROOT.glob("*.md"), *(wheels.ROOT / "docs").rglob("*.md")]
    modules = [path for name in ("aragog", "deploy") for path in (wheels.ROOT / name).rglob("*.*")]

    wrong = [p for p in (*pages, *modules) if p.suffix != ".pyc" and b"aragog[" in p.read_bytes()]

    assert wrong == []


def test_wheel_has_an_extra_for_each_optional_part(wheel):
    with ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(name).decode())

        contracts = [n for n in archive.namelist() if n.startswith("aragog/testing/")]

    assert "aragog/testing/content_store.py" in contracts
    assert {"s3", "hbase", "flower", "parquet", "reppy", "testing", "all"} <= set(
        metadata.get_all("Provides-Extra")
    )


def test_all_extras_together_install_without_a_compiler(wheel, libraries, tmp_path):
    env = wheels.without_compiler(tmp_path)
    bin_ = wheels.install(tmp_path / "venv", f"{wheel}[all]", *libraries, env=env)

    program = (
        "from importlib.util import find_spec; from aragog.runtime.extras import *; "
        "print(*(name for name in MODULE_OF if has(name)), "
        "*(name for name in ('mcp', 'scrapy', 'confluent_kafka') if find_spec(name)))"
    )
    reported = wheels.run(bin_ / "python", "-P", "-c", program, cwd=tmp_path)

    assert reported.stdout.split() == [
        "s3",
        "hbase",
        "postgres",
        "thrift",
        "flower",
        "parquet",
        "pdf",
        "text",
        "identity",
        "http2",
        "mcp",
        "scrapy",
        "confluent_kafka",
    ]


def test_wheel_runs_the_demo_from_an_empty_folder(installed, tmp_path):
    bin_, env = installed

    reported = wheels.run(bin_ / "aragog", "run", "--stop", cwd=tmp_path, env=env)
    shown = subprocess.run(
        [bin_ / "aragog", "show", LAMP, "--json"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "Traceback" not in reported.stdout
    assert "pip install 'aragog-crawler[flower]'" in reported.stdout
    assert json.loads(shown.stdout)["fields"]["product.price"] == "89.90"


def test_modules_in_the_current_folder_do_not_shadow_those_of_its_processes(installed, tmp_path):
    bin_, env = installed
    for name in ("tasks", "workers", "celeryconfig", "beat_schedule", "celery", "redis", "aragog"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the module of the folder')\n")
    (tmp_path / "urls.txt").write_text("http://169.254.169.254/\n")

    reported = wheels.run(
        bin_ / "aragog", "run", "urls.txt", "--stop",
        cwd=tmp_path, env={**env, "ARAGOG_FETCH__USER_AGENT": "test/1.0 (+http://127.0.0.1/)"},
    )  # fmt: skip

    logs = "".join(path.read_text() for path in (tmp_path / "var" / "logs").glob("*.log"))
    assert "the module of the folder" not in reported.stdout + logs
    assert "started again" not in reported.stdout
    assert "1 refused" in reported.stdout


@pytest.mark.parametrize(
    ("setting", "value", "extra"),
    [("ARAGOG_STORE__ENGINE", "hbase", "hbase"), ("ARAGOG_CONTENT__ENGINE", "s3", "s3")],
    ids=["store", "content"],  # the name of a server would assign the test to another worker
)
def test_setting_that_needs_a_missing_extra_names_the_install_command(
    installed, tmp_path, setting, value, extra
):
    bin_, env = installed

    refused = subprocess.run(
        [bin_ / "aragog", "store", "list", "www.shop.test"],
        cwd=tmp_path,
        env={**env, setting: value, "ARAGOG_CONTENT__S3_BUCKET": "bucket"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert refused.returncode == 1
    assert f"pip install 'aragog-crawler[{extra}]'" in refused.stderr
    assert "Traceback" not in refused.stderr
