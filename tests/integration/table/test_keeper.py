"""A table matches a current export: after changes, takedowns, kills and pauses."""

from dataclasses import replace

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from aragog.addons.table.delta_files import DeltaFiles
from aragog.addons.table.keeper import TableKeeper, TableOptions
from aragog.errors import BadInput, ConfigError, ServiceUnavailable
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.items import load_kinds
from aragog.runtime.clock import ManualClock
from aragog.settings import ContentSettings, RefreshSettings, StoreSettings
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, SAME, body, page
from zengraph.tables.memory import MemoryTables

FORMATS = {"shop.price": "integer", "shop.name": "text"}
FIELDS = tuple(FORMATS)
KEPT_S = 3600.0
HOURS_MS = 3_600_000


class Shop:
    """A store, the keeper of its table, and readers of it."""

    kinds = load_kinds({})

    def __init__(self, place, content=None):
        self.clock = ManualClock(NOW_MS)
        self.place, self.content = place, content or ContentSettings()
        self.store = UrlStore(
            MemoryTables(), MemoryContent(), StoreSettings(field_formats=FORMATS), self.clock,
            RefreshSettings(report_new_pages=True),
        )  # fmt: skip
        self.files = DeltaFiles(place, self.content)

    def put(self, *numbers, price=1, host="a", **parts):
        at_ms = self.clock.now_ms()
        parts.setdefault("facts", {"outcome": "Fetched", "status": 200})
        pages = [
            page(
                f"http://{host}.example/{number}", at_ms,
                seen=Seen(outcome="Fetched", fetched_at_ms=at_ms, body_hash=f"{number} {price}"),
                fields={"shop.price": b"%d" % price, "shop.name": b"lamp"},
                content=body(f"{number} {price}"), **parts,
            )
            for number in numbers
        ]  # fmt: skip
        self.store.write_pages(pages)
        self.clock.advance_ms(SETTLE_MS + 1)

    def fail(self, number, outcome, status):
        at_ms = self.clock.now_ms()
        self.store.write_pages(
            [
                page(
                    f"http://a.example/{number}", at_ms,
                    facts={"outcome": outcome, "status": status},
                    seen=Seen(outcome=outcome, fetched_at_ms=at_ms),
                )
            ]
        )  # fmt: skip
        self.clock.advance_ms(SETTLE_MS + 1)

    def keeper(self, **wanted):
        return TableKeeper(
            self.store, self.files, TypedFields(self.store.formats), self.kinds,
            TableOptions(**{"fields": FIELDS, "buckets": 4, **wanted}), kept_s=KEPT_S, keep_h=0,
            now_ms=self.clock.now_ms,
        )  # fmt: skip

    def keep(self, **wanted):
        """Run rounds until the table is current; returns what they did."""
        keeper, done = self.keeper(**wanted), []
        while not done or not done[-1].is_last:
            done.append(keeper.round())
        return done

    def prices(self):
        """The prices as DuckDB reads them, by the last part of the URL."""
        files = DeltaTable(self.place).file_uris()
        found = duckdb.sql(
            'SELECT url, "shop.price" FROM read_parquet($files, hive_partitioning = true)',
            params={"files": files},
        ).fetchall()
        return {url.removeprefix("http://").replace(".example", ""): n for url, n in found}


@pytest.fixture
def shop(tmp_path):
    return Shop(str(tmp_path / "pages"))


def test_first_run_builds_the_table_from_an_export_and_reports_it(shop):
    shop.put(1, 2)

    first, second = shop.keep()

    assert (first.written, first.rebuilt) == (2, "there was no table")
    assert (second.written, second.deleted, second.rebuilt) == (0, 0, "")
    assert shop.prices() == {"a/1": 1, "a/2": 1}


def test_changed_and_new_pages_are_merged(shop):
    shop.put(1, 2)
    shop.keep()
    shop.put(2, 3, price=7)

    (done,) = shop.keep()

    assert (done.written, done.deleted) == (2, 0)
    assert shop.prices() == {"a/1": 1, "a/2": 7, "a/3": 7}


def test_polars_reads_types_and_own_columns(shop):
    shop.put(1)
    shop.keep()

    (row,) = pl.scan_delta(shop.place).collect().to_dicts()

    assert row["host"] == "a.example"
    assert row["fetched_at_ms"] == NOW_MS
    assert row["final_url"] == row["url"] == "http://a.example/1"
    assert (row["shop.price"], row["shop.name"]) == (1, "lamp")


def test_round_without_changes_commits_nothing(shop):
    shop.put(1)
    shop.keep()
    version = DeltaTable(shop.place).version()

    shop.keep()

    assert DeltaTable(shop.place).version() == version


@pytest.mark.parametrize(
    "what", [{"url": "http://b.example/1"}, {"host": "b.example"}, {"domain": "b.example"}]
)
def test_taken_down_pages_leave_the_table_and_its_old_files(shop, what):
    shop.put(1)
    shop.put(1, host="b")
    shop.keep()
    shop.store.takedowns.take_down(**what)

    (done,) = shop.keep()
    shop.keeper().clean()

    assert done.deleted == 1
    assert shop.prices() == {"a/1": 1}
    assert "b.example" not in everything_in(shop.place)


def everything_in(place):
    """The text of every file of a table: Parquet files decompressed, the log unchanged."""
    import pathlib

    import pyarrow.parquet as pq

    texts = []
    for file in pathlib.Path(place).rglob("*"):
        if file.suffix == ".parquet":
            texts.append(str(pq.ParquetFile(file).read().to_pylist()))
        elif file.is_file():
            texts.append(file.read_text(errors="replace"))
    return "\n".join(texts)


def test_page_that_leads_to_a_taken_down_url_leaves_with_it(shop):
    shop.put(1, final_url="http://b.example/page", canonical_url="http://a.example/1")
    shop.put(2)
    shop.keep()
    shop.store.takedowns.take_down(host="b.example")

    shop.keep()

    assert shop.prices() == {"a/2": 1}


def test_withheld_page_leaves_the_table_and_returns(shop):
    shop.put(1, 2)
    shop.keep()
    shop.fail(1, OutcomeKind.FORBIDDEN, 403)
    shop.keep()
    withheld = shop.prices()

    shop.put(1)
    shop.keep()

    assert (withheld, shop.prices()) == ({"a/2": 1}, {"a/1": 1, "a/2": 1})


def test_withdrawn_page_leaves_the_table(shop):
    shop.put(1, 2)
    shop.keep()
    shop.store.takedowns.withdraw("http://a.example/1", shop.clock.now_ms())
    shop.clock.advance_ms(SETTLE_MS + 1)

    shop.keep()

    assert shop.prices() == {"a/2": 1}


def test_page_that_became_an_alias_leaves_the_table(shop):
    shop.put(1, likeness=SAME)
    shop.put(2, likeness=SAME)
    shop.keep()
    shop.put(1, canonical_url="http://a.example/2", likeness=SAME)
    assert shop.store.get("http://a.example/1").canonical_url == "http://a.example/2"

    shop.keep()

    assert shop.prices() == {"a/2": 1}


def test_pages_that_refuse_a_purpose_are_not_in_a_table_for_it(shop):
    refused = {"outcome": "Fetched", "status": 200, "page_preferences": "search=n (x)"}
    allowed = {**refused, "page_preferences": "search=y (x)"}
    shop.put(1, 2, facts=allowed)
    shop.keep(purpose="search")
    shop.put(2, 3, price=2, facts=refused)

    (done,) = shop.keep(purpose="search")

    assert done.deleted == 2
    assert shop.prices() == {"a/1": 1}


def test_cursor_older_than_the_feed_rebuilds_the_table_with_a_reason(shop):
    shop.put(1, 2)
    shop.keep()
    shop.put(2, 3, price=5)
    shop.clock.advance_ms(2 * HOURS_MS)
    shop.store.feed.sweep(KEPT_S)

    first, *_ = shop.keep()

    assert "the feed no longer has" in first.rebuilt
    assert shop.prices() == {"a/1": 1, "a/2": 5, "a/3": 5}


def test_table_without_recent_changes_is_not_rebuilt(shop):
    shop.put(1)
    shop.keep()
    for _ in range(6):
        shop.clock.advance_ms(int(KEPT_S * 1000 / 3))
        done = shop.keep()

        assert [each.rebuilt for each in done] == [""]


def test_different_fields_rebuild_the_table(shop):
    shop.put(1)
    shop.keep()

    first, *_ = shop.keep(fields=("shop.name",))

    assert first.rebuilt == "it had other fields"
    assert "shop.price" not in DeltaTable(shop.place).schema().to_arrow().names


def test_change_merged_again_changes_nothing(shop):
    """A writer was killed after its merge and before it recorded it."""
    shop.put(1)
    shop.keep()
    before = shop.files.state()
    shop.put(1, 2, price=3)
    shop.keep()
    again = replace(next_of(shop.files.state()), cursor=before.cursor)
    shop.files.advance(again)

    (done,) = shop.keep()

    assert done.written == 2
    assert shop.prices() == {"a/1": 3, "a/2": 3}


def next_of(state):
    return replace(state, number=state.number + 1)


def test_one_of_two_writers_commits_and_the_other_retries(shop):
    shop.put(1)
    shop.keep()
    other, after = DeltaTable(shop.place), next_of(shop.files.state())
    shop.files.advance(after)
    shop.files._require_table = lambda: other  # as of a writer that started earlier

    with pytest.raises(ServiceUnavailable, match="committed first"):
        shop.files.advance(after)


@pytest.mark.parametrize("compacted", [False, True])
def test_readers_filter_merged_rows_by_text(shop, compacted):
    for number in range(12):
        shop.put(number)
        shop.keep()
    shop.put(*range(12), price=2)
    shop.keep()
    if compacted:
        shop.keeper().clean()

    table = DeltaTable(shop.place)
    with duckdb.connect() as connection:
        connection.register("pages", table.to_pyarrow_dataset())
        by_duckdb = connection.sql("FROM pages WHERE url = 'http://a.example/3'").fetchall()
    by_pandas = table.to_pandas(filters=[("shop.name", "=", "lamp")])
    by_polars = pl.scan_delta(shop.place).filter(pl.col("host") == "a.example").collect()

    assert [row[0] for row in by_duckdb] == ["http://a.example/3"]
    assert len(by_pandas) == len(by_polars) == 12


def test_small_files_are_compacted_without_loss(shop):
    for number in range(12):
        shop.put(number)
        shop.keep()
    small = len(DeltaTable(shop.place).file_uris())

    shop.keeper().clean()

    assert len(DeltaTable(shop.place).file_uris()) <= min(small, 2 * 4)
    assert len(shop.prices()) == 12


def test_changed_hours_for_old_files_apply_to_an_existing_table(shop):
    shop.put(1)
    shop.keep()
    before = shop.files.state()

    shop.files.clean(5)
    kept = DeltaTable(shop.place).metadata().configuration
    version = DeltaTable(shop.place).version()
    shop.files.clean(5)

    assert kept["delta.logRetentionDuration"] == "interval 5 hours"
    assert kept["delta.deletedFileRetentionDuration"] == "interval 5 hours"
    assert DeltaTable(shop.place).version() == version
    assert shop.files.state() == before
    assert shop.keep()[0].rebuilt == ""


def test_table_of_another_program_is_left_alone(tmp_path):
    from deltalake import write_deltalake

    place = str(tmp_path / "theirs")
    write_deltalake(place, pl.DataFrame({"a": [1]}).to_arrow())

    with pytest.raises(BadInput, match="another program"):
        DeltaFiles(place, ContentSettings()).state()


def test_table_of_a_later_version_is_left_alone(tmp_path):
    from deltalake import CommitProperties, write_deltalake

    place = str(tmp_path / "later")
    properties = CommitProperties(custom_metadata={"aragog": '{"format": 2}'})
    write_deltalake(place, pl.DataFrame({"a": [1]}).to_arrow(), commit_properties=properties)

    with pytest.raises(ConfigError, match="later version"):
        DeltaFiles(place, ContentSettings()).state()
