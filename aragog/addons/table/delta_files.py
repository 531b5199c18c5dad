"""
A Delta Lake table in a folder or in S3, by delta-rs: its commits, each with aragog's state in it.

A commit names the files that are the table from then on, and is one file that is written whole or
not at all, and never replaced. So readers see the table before a commit or after it, and a writer
that is killed leaves files that no commit names; `clean` deletes them. The cursor of the change
feed is in the commit, which makes a merge happen exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from aragog.addons.table.rows import LEAVES
from aragog.errors import BadInput, ConfigError, ServiceUnavailable
from aragog.runtime.extras import require

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, WriterProperties

    from aragog.settings import ContentSettings

_STATE = "aragog"
"""The key of the state in a commit, and the application of its transactions."""
_MOST_COMMITS = 100
_FORMAT = 1
TARGET_BYTES = 128 << 20
"""Size of compacted files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """Metadata of a commit; readers ignore members that they do not know."""

    cursor: str
    """Every change of the feed up to it is in the table."""
    takedowns: int
    """The count of takedowns that the table reflects."""
    buckets: int
    fields: tuple[str, ...]
    """Of a table of items, empty: all of the kind."""
    purpose: str | None = None
    items: str | None = None
    """The kind of items that are its rows; None: they are pages."""
    host: str | None = None
    """Only items of pages of this host and those below it; None: of all."""
    types: str = ""
    """Identifies the types of its columns; empty: written by an earlier version."""
    number: int = 0
    """Commits of aragog so far; two writers cannot commit the same."""

    @classmethod
    def parse(cls, text: str) -> TableState | None:
        """The state in a commit; None: it is of a later format, which this version cannot keep."""
        wire = orjson.loads(text)
        if wire.get("format") != _FORMAT:
            return None
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        return cls(**{**known, "fields": tuple(known["fields"])})

    def text(self) -> str:
        """As a commit has it."""
        return orjson.dumps({"format": _FORMAT, **asdict(self)}).decode()


def storage_options(content: ContentSettings) -> dict[str, str]:
    """
    Endpoint, region and credentials of S3 for delta-rs, those that boto3 finds.

    Raises:
        ConfigError: boto3 is missing.
    """
    require("s3", "a table in S3")
    import boto3.session  # noqa: PLC0415 - an extra, and 0.3 s

    session = boto3.session.Session()
    found = session.get_credentials()
    options = {"AWS_REGION": content.s3_region or session.region_name or "us-east-1"}
    if found is not None:
        keys = found.get_frozen_credentials()
        options |= {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}
        if keys.token:
            options["AWS_SESSION_TOKEN"] = keys.token
    if content.s3_endpoint:
        plain = urlsplit(content.s3_endpoint).scheme == "http"
        options |= {"AWS_ENDPOINT_URL": content.s3_endpoint, "AWS_ALLOW_HTTP": str(plain).lower()}
    return options


class DeltaFiles:
    """
    The table at a place; one process writes it, any number read it.

    Args:
        place: a folder, or `s3://BUCKET/PREFIX`.
        content: where S3 is.

    Raises:
        ConfigError: delta-rs is missing.
    """

    def __init__(self, place: str, content: ContentSettings) -> None:
        require("table", "aragog table", module="deltalake")
        self.place = place
        self._content = content

    def state(self) -> TableState | None:
        """
        The state in the newest commit; None: there is no table yet.

        Raises:
            BadInput: it is a table of another program.
            ConfigError: a later version of aragog wrote it.
            ServiceUnavailable: S3 does not answer.
        """
        table = self._open()
        if table is None:
            return None
        for commit in table.history(_MOST_COMMITS):
            if _STATE in commit:
                state = TableState.parse(commit[_STATE])
                if state is None:
                    raise ConfigError(f"{self.place}: a later version of aragog keeps this table")
                return state
        raise BadInput(f"{self.place}: is a Delta table of another program; name another place")

    def replace(self, batches: Iterable[Any], schema: Any, state: TableState, keep_h: int) -> None:
        """Make these record batches the table, in one commit; atomic, and safe to repeat."""
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s
        from deltalake import write_deltalake  # noqa: PLC0415 - an extra, and 0.2 s

        reader = pa.RecordBatchReader.from_batches(schema, iter(batches))
        with self._errors():
            write_deltalake(
                self.place,
                reader,
                mode="overwrite",
                schema_mode="overwrite",
                partition_by=["bucket"],
                configuration=_configuration(keep_h),
                storage_options=self._options(),
                commit_properties=_properties(state),
                writer_properties=_file_properties(),
                target_file_size=TARGET_BYTES,
            )

    def merge(self, rows: Any, state: TableState, key: str) -> None:
        """
        Write and delete rows by their column `key`, in one commit with the state.

        Raises:
            ServiceUnavailable: another process committed first, or S3 does not answer; nothing was
                committed.
        """
        table = self._opened()
        names = [name for name in rows.schema.names if name != LEAVES]
        cells = {f'"{name}"': f's."{name}"' for name in names}
        buckets = ", ".join(map(str, sorted(set(rows["bucket"].to_pylist()))))
        # The buckets are named, and the source is streamed, so that no key is in the log.
        same = f"t.bucket = s.bucket AND t.{key} = s.{key} AND t.bucket IN ({buckets})"
        with self._errors():
            (
                table.merge(
                    rows,
                    same,
                    source_alias="s",
                    target_alias="t",
                    streamed_exec=True,
                    writer_properties=_file_properties(),
                    commit_properties=_properties(state),
                )
                .when_matched_delete(f"s.{LEAVES}")
                .when_matched_update(updates=cells)
                .when_not_matched_insert(updates=cells, predicate=f"NOT s.{LEAVES}")
                .execute()
            )

    def advance(self, state: TableState) -> None:
        """Commit a state without rows: the feed had none for this table."""
        table = self._opened()
        with self._errors():
            table.create_write_transaction(
                [], "append", table.schema(), partition_by=["bucket"],
                commit_properties=_properties(state),
            )  # fmt: skip

    def read(self, columns: Sequence[str], where: Any = None) -> Iterator[tuple[Any, ...]]:
        """
        These columns of each row.

        Args:
            columns: their names.
            where: an expression of pyarrow that is true for the rows that are wanted; None: all.
        """
        table = self._opened()
        with self._errors():
            found = table.to_pyarrow_dataset().to_batches(columns=[*columns], filter=where)
            for batch in found:
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def rows(self) -> int:
        """Number of rows, from the log."""
        with self._errors():
            return int(self._opened().count())

    def compact(self, state: TableState) -> TableState:
        """Join small files where a bucket has several; rows and readers notice nothing."""
        table = self._opened()
        if len(table.file_uris()) <= 2 * state.buckets:
            return state
        after = replace(state, number=state.number + 1)
        with self._errors():
            table.optimize.compact(
                target_size=TARGET_BYTES, max_concurrent_tasks=1,
                writer_properties=_file_properties(), commit_properties=_properties(after),
            )  # fmt: skip
        return after

    def clean(self, keep_h: int) -> int:
        """
        Delete files, and entries of the log, that are of no use to the table for `keep_h` hours.

        Files of writers that were killed are among them. Returns the number of files of rows.
        """
        table = self._opened()
        with self._errors():
            if (now := _configuration(keep_h)).items() - table.metadata().configuration.items():
                table.alter.set_table_properties(dict(now), raise_if_not_exists=False)
            gone = table.vacuum(
                retention_hours=keep_h, dry_run=False, enforce_retention_duration=False, full=True
            )
            table.create_checkpoint()
            table.cleanup_metadata()
        return len(gone)

    def _open(self) -> DeltaTable | None:
        from deltalake import DeltaTable  # noqa: PLC0415 - an extra, and 0.2 s
        from deltalake.exceptions import TableNotFoundError  # noqa: PLC0415

        with self._errors():
            try:
                return DeltaTable(self.place, storage_options=self._options())
            except TableNotFoundError:
                return None

    def _opened(self) -> DeltaTable:
        table = self._open()
        if table is None:
            raise ServiceUnavailable(self.place, "the table was deleted meanwhile")
        return table

    def _options(self) -> dict[str, str] | None:
        # Anew for each use: keys of a role live an hour.
        return storage_options(self._content) if self.place.startswith("s3://") else None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from deltalake.exceptions import CommitFailedError, DeltaError  # noqa: PLC0415 - an extra

        try:
            yield
        except CommitFailedError as error:
            reason = "another process committed first: one keeps a table"
            raise ServiceUnavailable(self.place, reason) from error
        except (DeltaError, OSError) as error:
            raise ServiceUnavailable(self.place, str(error)[:300]) from error


def _properties(state: TableState) -> CommitProperties:
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415 - an extra, and 0.2 s

    return CommitProperties(
        custom_metadata={_STATE: state.text()},
        app_transactions=[Transaction(_STATE, state.number)],
    )


def _file_properties() -> WriterProperties:
    """
    How Parquet files are written: without statistics.

    Merges write texts as "string views". pyarrow (26), and so pandas and DuckDB over it, cannot
    compare a filter with their smallest and largest value, and reads fail; without them it filters
    the rows.
    """
    from deltalake import ColumnProperties, WriterProperties  # noqa: PLC0415 - an extra, and 0.2 s

    return WriterProperties(
        compression="ZSTD",
        default_column_properties=ColumnProperties(statistics_enabled="NONE"),
    )


def _configuration(keep_h: int) -> Mapping[str, str]:
    """Properties of the table. No values of pages in the log, so it has no statistics of them."""
    kept = f"interval {max(keep_h, 1)} hours"
    return {
        "delta.dataSkippingStatsColumns": "bucket",
        "delta.logRetentionDuration": kept,
        "delta.deletedFileRetentionDuration": kept,
    }
