"""The command `aragog doctor`, which checks all configured components."""

from __future__ import annotations

import logging
import os
import sys

import click

from aragog.cli.doctor import configuration, data, egress, servers
from aragog.cli.doctor.finding import (
    CHECK_TIMEOUT_S,
    Check,
    CheckedSystem,
    Finding,
    run_checks,
)
from aragog.cli.exit_status import FAILED
from aragog.cli.terminal import SafeConsole, echo_json
from aragog.settings.in_use import settings_in_use

CHECKS: tuple[Check, ...] = (
    configuration.check_settings,
    configuration.check_agent,
    configuration.check_identity,
    servers.check_redis,
    servers.check_limiter,
    servers.check_broker,
    servers.check_queues,
    servers.check_stray_jobs,
    data.check_store,
    data.check_store_claim,
    data.check_content,
    data.check_crawl_log,
    data.check_disk,
    configuration.check_open_files,
    data.check_overrides,
    configuration.check_site_rules,
    configuration.check_extractors,
    configuration.check_text_finder,
    configuration.check_http2,
    egress.check_egress,
    configuration.check_rendering,
    configuration.check_tracing,
    configuration.check_exposure,
    configuration.check_listeners,
    configuration.check_certificate,
    configuration.check_standby,
    configuration.check_one_machine,
)
# These checks need processes that start after the servers; --no-workers skips them.
PROCESS_CHECKS: tuple[Check, ...] = (servers.check_workers, servers.check_beat)


@click.command()
@click.option("--no-workers", is_flag=True, help="Skip checks that need a running system.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(*, no_workers: bool, as_json: bool) -> None:
    """Check every part and print what to do; exits with 1 if something is wrong."""
    # Errors that these parts would log are reported as findings below.
    logging.getLogger("aragog").addHandler(logging.NullHandler())
    system = CheckedSystem(settings_in_use(), should_run=not no_workers)
    checks = CHECKS if no_workers else CHECKS + PROCESS_CHECKS
    findings, is_hanging = run_checks(checks, system, CHECK_TIMEOUT_S)
    if as_json:
        echo_json([result._asdict() for result in findings])
    else:
        _print_findings(findings)
    if is_hanging:  # exit now, because Python would wait for the hanging check's thread
        sys.stdout.flush()
        os._exit(FAILED)
    if not all(result.ok for result in findings):
        sys.exit(FAILED)


def _print_findings(findings: list[Finding]) -> None:
    console = SafeConsole()
    for finding in findings:
        console.print(_status_markup(finding), end=" ")
        line = f"{finding.part}: {finding.text}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _status_markup(finding: Finding) -> str:
    if not finding.ok:
        return "[red]fail[/]"
    return "[yellow]warn[/]" if finding.warning else "[green]ok[/]  "
