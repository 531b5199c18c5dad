"""
Report what is missing on this machine, and how many tests are skipped for it, after `make test`.

A test that needs a program calls `skip_without` with one of `PARTS`. With CI=true it fails, so that
the checks of the project never pass because something was not installed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import NamedTuple, NoReturn

import pytest

MARK = "not here: "
REASON = re.compile(rf"{MARK}(?P<name>.+?) \((?P<remedy>.+?)\)(?:: |$)")


class Part(NamedTuple):
    """Something outside Python that tests need."""

    name: str
    remedy: str

    @property
    def reason(self) -> str:
        """Return the skip reason of a test that needs it."""
        return f"{MARK}{self.name} ({self.remedy})"


HBASE = Part("Java and Maven", "apt install openjdk-17-jre-headless maven")
KAFKA = Part("Java and Maven", "apt install openjdk-17-jre-headless maven")
POSTGRES = Part("PostgreSQL", "run `make setup`, or apt install postgresql")
JDK = Part("a Java compiler", "apt install openjdk-17-jdk-headless")
MAVEN = Part("Maven and a Java compiler", "apt install openjdk-17-jdk-headless maven")
PGBOUNCER = Part("pgbouncer", "apt install pgbouncer")
S3 = Part("Go or versitygw", "apt install golang")
GO = Part("Go", "apt install golang")
RABBITMQ = Part("RabbitMQ", "apt install rabbitmq-server")
THRIFT = Part("the Thrift compiler", "apt install thrift-compiler")
CHROMIUM = Part("Chromium", "apt install chromium-headless-shell chromium")
SYSTEM_REDIS = Part("a Redis of the system", "apt install redis-server")
SYSTEMD = Part("systemd", "apt install systemd")
KUBECTL = Part("kubectl", "apt install kubernetes-client")
HELM = Part("Helm", "run `make chart`, which builds it")
PROMETHEUS = Part("promtool", "apt install prometheus")
ROOT = Part("root", "run the tests as root")
ORDINARY_USER = Part("an ordinary user", "run the tests as another user than root")
SECCOMP = Part("libseccomp", "apt install libseccomp2")
NAMESPACES = Part("user namespaces", "allow them, or run on another kernel")
LINUX = Part("Linux", "run the tests on Linux")
REPPY = Part("reppy", "run `make setup`, which builds it")
NGINX = Part("nginx", "apt install nginx-light")
ZSH = Part("zsh", "apt install zsh")
FISH = Part("fish", "apt install fish")
EARLIER = Part("the commit of deploy/compatible_commit", "git fetch --unshallow")
BENCH = Part("the environment of the measurements", "run scripts/setup bench")

# No machine has all of these, so their tests are skipped even with CI=true. Helm takes 200 s of CPU
# time to build.
OPTIONAL = {HELM, KUBECTL, ORDINARY_USER, PROMETHEUS, ROOT, NAMESPACES, LINUX, SYSTEMD}


def skip_without(part: Part, reason: str = "") -> NoReturn:
    """Skip the test. With CI=true it fails, unless the part is optional."""
    text = part.reason + (f": {reason}" if reason else "")
    if os.environ.get("CI") == "true" and part not in OPTIONAL:
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def unless(present: object, part: Part) -> pytest.MarkDecorator:
    """Return the mark of tests that run only if `present` is true."""
    return pytest.mark.skipif(not present, reason=part.reason)


def lines(reasons: list[str]) -> list[str]:
    """Return one line per missing part: how to install it, and how many tests need it."""
    found = (REASON.match(reason) for reason in reasons)
    missing = Counter((match["name"], match["remedy"]) for match in found if match)
    return [
        f"{name}: {remedy} (brings {count} {'test' if count == 1 else 'tests'})"
        for (name, remedy), count in missing.most_common()
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the lines, and other skip reasons unchanged."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped]
    others = Counter(reason for reason in reasons if MARK not in reason)
    if reasons:
        terminalreporter.section("skipped: what this machine lacks")
    for line in lines(reasons):
        terminalreporter.write_line(line)
    for reason, count in others.most_common():
        terminalreporter.write_line(f"{reason} ({count})")
