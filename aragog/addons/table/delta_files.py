"""
A Delta Lake table in a folder or in S3, with delta-rs. Each commit includes aragog's state.

A commit lists the files that make up the table. It is written atomically and never replaced, so
a program reads the table either before or after the commit. A killed writer leaves unlisted files
behind; `clean` deletes them. The cursor of the change feed is part of the commit, so each merge
happens exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from aragog.addons.table.rows import DELETED
from aragog.errors import BadInput, ConfigError, ServiceUnavailable
from aragog.runtime.extras import require

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, WriterProperties

    from aragog.settings import ContentSettings

_STATE = "aragog"
"""The state's key in a commit, and the application id of the commit's transaction."""
_MAX_COMMITS = 100
_FORMAT = 1
TARGET_BYTES = 128 << 20
"""Target size of compacted files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """aragog's metadata in a commit; unknown members are ignored."""

    cursor: str
    """The table includes all changes up to this cursor."""
    takedowns: int
    """The takedown counter when the table was last checked."""
    buckets: int
    fields: tuple[str, ...]
    """The fields that are columns. For items, an empty list means all fields of the kind."""
    purpose: str | None = None
    items: str | None = None
    """The kind of items in the rows; None for pages."""
    host: str | None = None
    """Only items on pages of this host and its subdomains; None for all."""
    types: str = ""
    """Identifies the columns' types; empty if an earlier version wrote the commit."""
    number: int = 0
    """Number of aragog's commits so far. It prevents two writers from making the same commit."""

    @classmethod
    def parse(cls, text: str) -> TableState | None:
        """Return the state in a commit, or None if a later version wrote it."""
        wire = orjson.loads(text)
        if wire.get("format") != _FORMAT:
            return None
        values = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        return cls(**{**values, "fields": tuple(values["fields"])})

    def text(self) -> str:
        """Return the state as it is stored in a commit."""
        return orjson.dumps({"format": _FORMAT, **asdict(self)}).decode()


def storage_options(content: ContentSettings) -> dict[str, str]:
    """
    Return the S3 endpoint, region and credentials for delta-rs, as found by boto3.

    Raises:
        ConfigError: boto3 is missing.
    """
    require("s3", "a table in S3")
    import boto3.session  # noqa: PLC0415 - an extra; takes 0.3 s

    session = boto3.session.Session()
    credentials = session.get_credentials()
    options = {"AWS_REGION": content.s3_region or session.region_name or "us-east-1"}
    if credentials is not None:
        keys = credentials.get_frozen_credentials()
        options |= {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}
        if keys.token:
            options["AWS_SESSION_TOKEN"] = keys.token
    if content.s3_endpoint:
        is_http = urlsplit(content.s3_endpoint).scheme == "http"
        options |= {"AWS_ENDPOINT_URL": content.s3_endpoint, "AWS_ALLOW_HTTP": str(is_http).lower()}
    return options


class DeltaFiles:
    """
    The table at a location. One process writes it; any number may read it.

    Args:
        place: a folder, or `s3://BUCKET/PREFIX`.
        content: the S3 settings.

    Raises:
        ConfigError: delta-rs is missing.
    """

    def __init__(self, place: str, content: ContentSettings) -> None:
        require("table", "aragog table", module="deltalake")
        self.place = place
        self._content = content

    def state(self) -> TableState | None:
        """
        Return the state in the newest commit, or None if there is no table yet.

        Raises:
            BadInput: another program created the table.
            ConfigError: a later version of aragog wrote it.
            ServiceUnavailable: S3 does not respond.
        """
        table = self._open()
        if table is None:
            return None
        for commit in table.history(_MAX_COMMITS):
            if _STATE in commit:
                state = TableState.parse(commit[_STATE])
                if state is None:
                    raise ConfigError(
                        f"{self.place} was written by a later version of aragog; upgrade this one"
                    )
                return state
        raise BadInput(
            f"{self.place} is a Delta table that another program created; choose another place"
        )

    def replace(self, batches: Iterable[Any], schema: Any, state: TableState, keep_h: int) -> None:
        """Replace the table with these record batches in one commit. Safe to repeat."""
        import pyarrow as pa  # noqa: PLC0415 - an extra; takes 0.2 s
        from deltalake import write_deltalake  # noqa: PLC0415 - an extra; takes 0.2 s

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
                commit_properties=_commit_properties(state),
                writer_properties=_file_properties(),
                target_file_size=TARGET_BYTES,
            )

    def merge(self, rows: Any, state: TableState, key: str) -> None:
        """
        Write and delete rows in one commit with the state. The column `key` identifies the rows.

        Raises:
            ServiceUnavailable: another process committed first, or S3 does not respond; nothing was
                committed.
        """
        table = self._require_table()
        names = [name for name in rows.schema.names if name != DELETED]
        cells = {f'"{name}"': f's."{name}"' for name in names}
        buckets = ", ".join(map(str, sorted(set(rows["bucket"].to_pylist()))))
        # Filter partitions and stream the source, so that the log contains no keys.
        condition = f"t.bucket = s.bucket AND t.{key} = s.{key} AND t.bucket IN ({buckets})"
        with self._errors():
            (
                table.merge(
                    rows,
                    condition,
                    source_alias="s",
                    target_alias="t",
                    streamed_exec=True,
                    writer_properties=_file_properties(),
                    commit_properties=_commit_properties(state),
                )
                .when_matched_delete(f"s.{DELETED}")
                .when_matched_update(updates=cells)
                .when_not_matched_insert(updates=cells, predicate=f"NOT s.{DELETED}")
                .execute()
            )

    def advance(self, state: TableState) -> None:
        """Commit a new state without rows, if the feed has no changes for this table."""
        table = self._require_table()
        with self._errors():
            table.create_write_transaction(
                [], "append", table.schema(), partition_by=["bucket"],
                commit_properties=_commit_properties(state),
            )  # fmt: skip

    def read(self, columns: Sequence[str], row_filter: Any = None) -> Iterator[tuple[Any, ...]]:
        """
        Yield these columns of each row.

        Args:
            columns: their names.
            row_filter: a pyarrow filter expression for the rows; None for all rows.
        """
        table = self._require_table()
        with self._errors():
            batches = table.to_pyarrow_dataset().to_batches(columns=[*columns], filter=row_filter)
            for batch in batches:
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def row_count(self) -> int:
        """Return the number of rows according to the transaction log."""
        with self._errors():
            return int(self._require_table().count())

    def compact(self, state: TableState) -> TableState:
        """Merge small files within buckets. Readers are not affected."""
        table = self._require_table()
        if len(table.file_uris()) <= 2 * state.buckets:
            return state
        new_state = replace(state, number=state.number + 1)
        with self._errors():
            table.optimize.compact(
                target_size=TARGET_BYTES, max_concurrent_tasks=1,
                writer_properties=_file_properties(),
                commit_properties=_commit_properties(new_state),
            )  # fmt: skip
        return new_state

    def clean(self, keep_h: int) -> int:
        """
        Delete files and log entries that the table has not needed for `keep_h` hours.

        This includes the files of killed writers. Returns the number of deleted data files.
        """
        table = self._require_table()
        with self._errors():
            if (wanted := _configuration(keep_h)).items() - table.metadata().configuration.items():
                table.alter.set_table_properties(dict(wanted), raise_if_not_exists=False)
            deleted = table.vacuum(
                retention_hours=keep_h, dry_run=False, enforce_retention_duration=False, full=True
            )
            table.create_checkpoint()
            table.cleanup_metadata()
        return len(deleted)

    def _open(self) -> DeltaTable | None:
        from deltalake import DeltaTable  # noqa: PLC0415 - an extra; takes 0.2 s
        from deltalake.exceptions import TableNotFoundError  # noqa: PLC0415

        with self._errors():
            try:
                return DeltaTable(self.place, storage_options=self._options())
            except TableNotFoundError:
                return None

    def _require_table(self) -> DeltaTable:
        table = self._open()
        if table is None:
            raise ServiceUnavailable(self.place, "the table was deleted in the meantime")
        return table

    def _options(self) -> dict[str, str] | None:
        # Not cached, because an IAM role's credentials are only valid for an hour.
        return storage_options(self._content) if self.place.startswith("s3://") else None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from deltalake.exceptions import CommitFailedError, DeltaError  # noqa: PLC0415 - an extra

        try:
            yield
        except CommitFailedError as error:
            reason = "another process committed first; only one may write a table"
            raise ServiceUnavailable(self.place, reason) from error
        except (DeltaError, OSError) as error:
            raise ServiceUnavailable(self.place, str(error)[:300]) from error


def _commit_properties(state: TableState) -> CommitProperties:
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415 - an extra; takes 0.2 s

    return CommitProperties(
        custom_metadata={_STATE: state.text()},
        app_transactions=[Transaction(_STATE, state.number)],
    )


def _file_properties() -> WriterProperties:
    """
    Return settings that write Parquet files without statistics.

    Merges write strings as "string views". pyarrow (26), pandas and DuckDB cannot compare the
    minimum and maximum of these with a filter, so reads would fail.
    """
    from deltalake import ColumnProperties, WriterProperties  # noqa: PLC0415 - a slow extra (0.2 s)

    return WriterProperties(
        compression="ZSTD",
        default_column_properties=ColumnProperties(statistics_enabled="NONE"),
    )


def _configuration(keep_h: int) -> Mapping[str, str]:
    """
    Return the table's configuration. It turns off statistics, except for `bucket`, because they
    would put page data in the log.
    """
    interval = f"interval {max(keep_h, 1)} hours"
    return {
        "delta.dataSkippingStatsColumns": "bucket",
        "delta.logRetentionDuration": interval,
        "delta.deletedFileRetentionDuration": interval,
    }
