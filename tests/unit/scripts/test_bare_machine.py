"""The machine used by `make bare`."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "bare_machine.py"))


def test_it_has_only_what_the_readme_requires():
    (sentence,) = re.findall(r"You need Debian.*?make", (ROOT / "README.md").read_text(), re.DOTALL)
    asked = set(re.findall(r"`(python3-\w+)`", sentence)) | {"python3", "make"}

    assert asked < set(SCRIPT["PACKAGES"])
    assert set(SCRIPT["PACKAGES"]) - asked == {"ca-certificates", "git", "procps"}


def test_ci_runs_it_before_installing_anything():
    commands = (ROOT / ".ci" / "run").read_text()

    assert commands.index("scripts/bare_machine.py") < commands.index("apt-get")
    assert commands.index("scripts/bare_machine.py") < commands.index("make setup")


def test_tests_that_ci_runs_or_skips_there_exist():
    named = [*SCRIPT["MACHINE_TESTS"], *SCRIPT["SAME_EVERYWHERE"]]

    assert [path for path in named if not (ROOT / path).exists()] == []
    assert {Path(path).parent for path in SCRIPT["SAME_EVERYWHERE"]} == {Path("tests/system")}


def test_package_index_and_certificate_settings_are_passed_on():
    names = (
        "PIP_INDEX_URL",
        "UV_INDEX",
        "SSL_CERT_FILE",
        "https_proxy",
        "HTTPS_PROXY",
        "CI",
        "HOME",
    )

    passed_on = [name for name in names if SCRIPT["PASSED_VARIABLES"].fullmatch(name)]

    assert passed_on == list(names[:5])
