"""
Create, check and upgrade the schema `pinlater`.

The tables have a version (the layout), and the functions have another (the code). A program that
connects replaces older functions. Newer functions stay, because a function keeps its arguments and
results within a layout. Only `upgrade`, which an operator runs, changes tables; workers may keep
running. A program that finds an unknown layout raises an error and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from importlib import resources

from pinlater.postgres.link import PostgresLink, PostgresLinks, SqlCall, SqlRefused

LAYOUT = 2
CODE = 5
"""The functions' version; increase it with every change to their source."""
UPGRADES: Mapping[int, str] = {
    # Programs of the previous version use `waiter` to check that they may write.
    1: """
DROP FUNCTION pinlater.wake(int);
CREATE UNLOGGED TABLE pinlater.listener (
  queue text NOT NULL, channel text NOT NULL, at bigint NOT NULL, PRIMARY KEY (queue, channel)
) WITH (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);""",
}
"""
Statements that upgrade layout k to k + 1. They must be safe while programs of layout k are running.
"""
FUNCTIONS = ("functions.sql", "collecting.sql", "queries.sql")
STEP_TIMEOUT_S = 3600.0
"""Timeout of an upgrade step, which may wait for another process or read a large table."""
MISSING_STATES = ("3F000", "42P01")
"""SQLSTATEs of a missing schema and a missing table."""
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('pinlater')::bigint)"
_VERSIONS = "SELECT layout, code FROM pinlater.meta"


class LayoutMismatch(ConnectionError):
    """The tables have a version that this program cannot use. The message contains the remedy."""


class QueueSchema:
    """
    The schema in one database.

    Args:
        layout: the version of the tables that the program needs.
        code: the version of the program's functions.
        upgrades: see `UPGRADES`.
    """

    def __init__(
        self, layout: int = LAYOUT, code: int = CODE, upgrades: Mapping[int, str] = UPGRADES
    ) -> None:
        self.layout, self.code, self._upgrades = layout, code, upgrades

    def check(self, link: PostgresLink) -> None:
        """
        Check the schema on a new connection; replace functions of an older version.

        Takes one round trip. A missing schema is no error here; it is created when the first
        statement fails.

        Raises:
            LayoutMismatch: the tables have another version.
            SqlRefused: the role may not replace the functions.
            OSError: the connection is lost.
        """
        try:
            rows = link.run(SqlCall(_VERSIONS))
        except SqlRefused as error:
            if error.sqlstate not in MISSING_STATES:
                raise
            return
        for layout, code in rows:
            self._check_layout(layout)
            if code < self.code:
                self._install(link)

    def _check_layout(self, layout: int) -> None:
        if layout > self.layout:
            raise LayoutMismatch(
                f"the schema pinlater has version {layout}, and this program knows versions up to "
                f"{self.layout}: install the program that upgraded it; you cannot downgrade it"
            )
        if layout < self.layout:
            raise LayoutMismatch(
                f"the schema pinlater has version {layout}, and this program needs {self.layout}: "
                "run `pinlater upgrade` (or your program's command for it) while workers run"
            )

    def install(self, links: PostgresLinks) -> None:
        """
        Create the schema, or missing functions. Safe to run at any time.

        Raises:
            LayoutMismatch: the tables have another version.
            SqlRefused: the role may not create it.
            OSError: the server cannot be reached, or the connection is lost.
        """
        with closing(links.open()) as link:
            self._install(link, replace=True)

    def upgrade(self, links: PostgresLinks, report: Callable[[str], None]) -> int:
        """
        Upgrade the tables to this program's version, in one transaction. Returns the version.

        Raises:
            LayoutMismatch: a newer program has upgraded them.
            SqlRefused: the role may not change them.
            OSError: the server cannot be reached, or the connection is lost.
        """
        with closing(links.open_unchecked()) as link:
            self._install(link, report=report)
        return self.layout

    def _install(
        self,
        link: PostgresLink,
        *,
        replace: bool = False,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """
        Create or upgrade what is needed, in a transaction. After an error, close the connection.

        Args:
            link: a connection.
            replace: whether to replace functions of the same version.
            report: called before each step of an upgrade; None means not to upgrade.
        """
        # A transaction-level lock, because behind a pooler, a session-level lock would pass to
        # other clients.
        link.execute(f"BEGIN; {_LOCK}", timeout_s=STEP_TIMEOUT_S)
        [[exists]] = link.run(SqlCall("SELECT to_regclass('pinlater.meta') IS NOT NULL"))
        [[layout, code]] = link.run(SqlCall(_VERSIONS)) if exists else [(self.layout, -1)]
        if report is None or layout > self.layout:
            self._check_layout(layout)
        for version in range(layout, self.layout):
            if report:
                report(f"from version {version} to {version + 1}")
            link.execute(self._upgrades[version], timeout_s=STEP_TIMEOUT_S)
        files = [] if exists else ["tables.sql"]
        if code < self.code or (replace and code == self.code):
            files += FUNCTIONS
        script = "\n".join(map(_read_file, files))
        link.execute(
            f"{script}\n{self._record_version(exists=exists)};\nCOMMIT", timeout_s=STEP_TIMEOUT_S
        )

    def _record_version(self, *, exists: bool) -> str:
        if exists:
            return (
                f"UPDATE pinlater.meta SET layout = {self.layout}, "  # noqa: S608
                f"code = greatest(code, {self.code})"
            )
        return (
            "INSERT INTO pinlater.meta (layout, code, started, timeline) "  # noqa: S608
            f"VALUES ({self.layout}, {self.code}, pg_postmaster_start_time(), "
            "left(pg_walfile_name(pg_current_wal_lsn()), 8))"
        )


def _read_file(file: str) -> str:
    return (resources.files(__package__) / file).read_text(encoding="utf-8")
