"""The machine of `make bare`."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "bare_machine.py"))


def test_it_has_what_readme_asks_for_and_nothing_of_the_tests():
    (sentence,) = re.findall(r"You need Debian.*?make", (ROOT / "README.md").read_text(), re.DOTALL)
    asked = set(re.findall(r"`(python3-\w+)`", sentence)) | {"python3", "make"}

    assert asked < set(SCRIPT["PACKAGES"])
    assert set(SCRIPT["PACKAGES"]) - asked == {"ca-certificates", "git", "procps"}


def test_ci_begins_with_it_before_anything_is_installed():
    commands = (ROOT / ".ci" / "run").read_text()

    assert commands.index("scripts/bare_machine.py") < commands.index("apt-get")
    assert commands.index("scripts/bare_machine.py") < commands.index("make setup")


def test_the_tests_that_ci_runs_there_or_leaves_out_exist():
    named = [*SCRIPT["MACHINE_TESTS"], *SCRIPT["SAME_EVERYWHERE"]]

    assert [path for path in named if not (ROOT / path).exists()] == []
    assert {Path(path).parent for path in SCRIPT["SAME_EVERYWHERE"]} == {Path("tests/system")}


def test_settings_for_the_package_index_and_certificates_are_passed_on():
    names = (
        "PIP_INDEX_URL",
        "UV_INDEX",
        "SSL_CERT_FILE",
        "https_proxy",
        "HTTPS_PROXY",
        "CI",
        "HOME",
    )

    passed_on = [name for name in names if SCRIPT["PASSED_ON"].fullmatch(name)]

    assert passed_on == list(names[:5])
