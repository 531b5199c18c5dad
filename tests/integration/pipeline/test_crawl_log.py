"""The crawl log: each fetch is in exactly one Parquet file, even after kills and repetitions."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace

import orjson
import pyarrow.parquet as pq
import pytest
import redis

from aragog.bootstrap.dashboard import components
from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.crawl_log import COLUMNS, CrawlLogStream
from aragog.crawl.pipeline.crawl_log_files import FolderFiles, S3Files, log_files
from aragog.crawl.pipeline.crawl_log_writer import CrawlLogWriter, file_name, writer_lease
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.dashboard.scraped_metrics import crawl_log_metrics
from aragog.errors import ContentUnavailable
from aragog.settings import (
    ContentSettings,
    CrawlLogSettings,
    RedisSettings,
    Settings,
    StoreSettings,
)
from tests.support.origin import page
from tests.support.pipeline_harness import Sent

pytestmark = pytest.mark.redis

SPAN_S = 60
START_MS = 1_760_000_040_000  # a multiple of the span
KEY = "aragog:crawl_log"

# Writes the files of a stream and prints the name of each once it is in place.
WRITER = """
import sys
import redis
from pathlib import Path
from aragog.crawl.pipeline.crawl_log_files import log_files
from aragog.crawl.pipeline.crawl_log import CrawlLogStream
from aragog.crawl.pipeline.crawl_log_writer import CrawlLogWriter
from aragog.settings import ContentSettings, CrawlLogSettings

url, engine, bucket, endpoint, folder, span_s = sys.argv[1:]
settings = CrawlLogSettings(engine=engine, s3_bucket=bucket)
content = ContentSettings(s3_endpoint=endpoint, s3_region="us-east-1")
files = log_files(settings, content, Path(folder))
put = files.put
class Told:
    def put(self, name, made):
        print("begins", flush=True)
        put(name, made)
        print("is there", flush=True)
stream = CrawlLogStream(redis.Redis.from_url(url), prefix="aragog:")
CrawlLogWriter(stream, Told(), int(span_s)).write_due()
"""


@pytest.fixture
def stream(redis_client):
    return CrawlLogStream(redis_client, prefix="aragog:")


@pytest.fixture(params=["folder", "s3"])
def place(request, tmp_path):
    """Where files go: (settings, content settings, a function that reads all files as a dict)."""
    if request.param == "folder":
        return (
            CrawlLogSettings(engine="folder"),
            ContentSettings(),
            lambda: {
                str(path.relative_to(tmp_path / "crawl-log")): pq.read_table(path)
                for path in (tmp_path / "crawl-log").rglob("[!.]*.parquet")
            },
        )
    content = request.getfixturevalue("s3_settings")
    settings = CrawlLogSettings(engine="s3", s3_bucket=content.s3_bucket)

    def read():
        from aragog.urlstore.s3_connection import s3_client

        client, objects = s3_client(content), {}
        listed = client.list_objects_v2(Bucket=content.s3_bucket, Prefix="crawl-log/")
        for item in listed.get("Contents", ()):
            copy = tmp_path / "copy"
            client.download_file(content.s3_bucket, item["Key"], str(copy))
            objects[item["Key"].removeprefix("crawl-log/")] = pq.read_table(copy)
        return objects

    return settings, content, read


def fill(client, spans, rows_each):
    """Add rows to past spans, each with its own name; returns the names."""
    names = []
    for span in range(spans):
        for number in range(rows_each):
            name = f"http://a.test/{span}/{number}"
            at_ms = START_MS + span * SPAN_S * 1000 + number
            client.xadd(KEY, {"r": orjson.dumps({"url": name})}, id=f"{at_ms}-0")
            names.append(name)
    return names


def writer(stream, place, tmp_path):
    settings, content, _ = place
    return CrawlLogWriter(stream, log_files(settings, content, tmp_path), SPAN_S)


def urls_in(files):
    return [url for table in files.values() for url in table["url"].to_pylist()]


def test_each_span_is_one_file_named_by_day_and_start(redis_client, stream, place, tmp_path):
    names = fill(redis_client, 3, 10)

    written = writer(stream, place, tmp_path).write_due()

    files = place[2]()
    assert sorted(urls_in(files)) == sorted(names)
    assert (
        sorted(files)
        == sorted(written)
        == [
            f"dt=2025-10-09/crawl-20251009T08540{n}Z-60s.parquet".replace(f"540{n}", f"5{4 + n}00")
            for n in range(3)
        ]
    )
    assert all(table.num_rows == 10 for table in files.values())
    assert stream.count_rows() == 0


def test_rows_of_an_unfinished_span_wait(redis_client, stream, place, tmp_path):
    fill(redis_client, 1, 2)
    stream.add([b'{"url":"http://now.test/"}'])

    written = writer(stream, place, tmp_path).write_due()

    assert len(written) == 1
    assert stream.count_rows() == 1


@pytest.mark.parametrize("killed_at", ["begins", "is there"])
def test_killed_writer_loses_and_duplicates_no_row(
    redis_client, redis_url, stream, place, tmp_path, killed_at
):
    names = fill(redis_client, 4, 1000)
    settings, content, read = place
    arguments = [
        redis_url, settings.engine, settings.s3_bucket, content.s3_endpoint, tmp_path, SPAN_S
    ]  # fmt: skip

    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, *map(str, arguments)], stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout:
                if line.strip() == killed_at:
                    break
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        Counter(urls_in(read()))  # everything there must be readable at any time
    writer(stream, place, tmp_path).write_due()

    assert Counter(urls_in(read())) == Counter(names)
    assert stream.count_rows() == 0


def test_rewritten_file_is_identical(redis_client, stream, place, tmp_path):
    fill(redis_client, 1, 100)
    kept = redis_client.dump(KEY)
    first = writer(stream, place, tmp_path).write_due()
    before = place[2]()
    redis_client.restore(KEY, 0, kept, replace=True)  # the removal was lost with the server

    second = writer(stream, place, tmp_path).write_due()

    after = place[2]()
    assert first == second
    assert len(after) == 1
    assert all(after[name].equals(before[name]) for name in after)


def test_writer_overtaken_by_another_writes_nothing(redis_client, stream, tmp_path):
    names = fill(redis_client, 1, 6000)
    files = FolderFiles(tmp_path / "crawl-log")

    class Overtaken(CrawlLogStream):
        def read_pages(self, from_id, until_ms):
            for page_ in super().read_pages(from_id, until_ms):
                CrawlLogWriter(stream, files, SPAN_S).write_due()
                yield page_

    overtaken = Overtaken(redis_client, prefix="aragog:")
    written = CrawlLogWriter(overtaken, files, SPAN_S).write_due()

    (path,) = (tmp_path / "crawl-log").rglob("*.parquet")
    assert written == []
    assert Counter(pq.read_table(path)["url"].to_pylist()) == Counter(names)


MEMORY = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import redis

from aragog.crawl.pipeline.crawl_log import CrawlLogStream
from aragog.crawl.pipeline.crawl_log_files import FolderFiles
from aragog.crawl.pipeline.crawl_log_writer import CrawlLogWriter

url, folder, start_ms, span_ms = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def rss_mb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024


stream = CrawlLogStream(redis.Redis.from_url(url), prefix="aragog:")
writer = CrawlLogWriter(stream, FolderFiles(Path(folder)), span_ms // 1000)
row = {"content_type": "text/html", "canonical_url": "y" * 60, "request_id": "r" * 16}
used = []
for number in range(8):
    with redis.Redis.from_url(url) as client:
        for part in range(20):
            pipe = client.pipeline(False)
            for n in range(500):
                fields = {"r": orjson.dumps(row | {"url": f"http://a.test/{number}/{part}/{n}"})}
                pipe.xadd("aragog:crawl_log", fields, id=f"{start_ms + number * span_ms}-{part * 500 + n}")
            pipe.execute()
    thread = ThreadPoolExecutor(1)
    assert len(thread.submit(writer.write_due).result()) == 1
    used.append((thread, rss_mb()))
print(used[-1][1] - used[0][1], "pandas" in sys.modules)
"""


def test_memory_does_not_grow_when_all_upkeep_threads_write_files(redis_url, tmp_path):
    """It grew by 15 MB per 10,000 pages, and pandas was imported for one call."""
    arguments = [redis_url, tmp_path, START_MS, SPAN_S * 1000]
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, *map(str, arguments)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip

    grown_mb, has_pandas = ran.stdout.split()
    assert has_pandas == "False"
    assert int(grown_mb) < 40


class HungFiles:
    """A bucket that accepts a file and does not respond."""

    def __init__(self):
        self.asked, self.answers = threading.Event(), threading.Event()

    def put(self, _name, _source):
        self.asked.set()
        assert self.answers.wait(60)


def test_only_one_writer_of_all_processes_waits_for_a_hung_bucket(redis_client, stream, tmp_path):
    fill(redis_client, 1, 5)
    hung = HungFiles()
    lease = writer_lease(redis_client, prefix="aragog:")
    first = threading.Thread(target=CrawlLogWriter(stream, hung, SPAN_S, lease).write_due)
    first.start()
    assert hung.asked.wait(60)
    files = FolderFiles(tmp_path / "crawl-log")

    assert CrawlLogWriter(stream, files, SPAN_S, lease).write_due() == []

    hung.answers.set()
    first.join(60)
    assert stream.count_rows() == 0
    assert lease.remaining_s(["writer"]) == [0.0]


def test_rows_stay_while_the_storage_is_unreachable(redis_client, stream, tmp_path, s3_settings):
    fill(redis_client, 1, 5)
    gone = replace(s3_settings, s3_endpoint="http://127.0.0.1:9", s3_attempts=1)
    files = S3Files(CrawlLogSettings(engine="s3", s3_bucket="x"), gone)

    with pytest.raises(ContentUnavailable):
        CrawlLogWriter(stream, files, SPAN_S).write_due()

    assert stream.count_rows() == 5


def test_rows_are_accepted_by_a_redis_with_full_memory(own_redis):
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        stream = CrawlLogStream(client, prefix="aragog:")

        stream.add([b"{}"])

        with pytest.raises(redis.exceptions.OutOfMemoryError):
            client.set("a", "b")
        assert stream.count_rows() == 1


def test_file_name_depends_on_the_span_length():
    assert file_name(START_MS, 60) != file_name(START_MS, 300)


def test_crawl_logs_each_fetch_with_its_facts(crawl_harness, redis_client, tmp_path):
    harness = crawl_harness({"/a": page(b"<title>here</title>")}, qps=1000)
    stream = CrawlLogStream(redis_client, prefix="aragog:")
    logged = replace(harness.pipeline.store, crawl_log=stream)
    harness.pipeline = replace(harness.pipeline, store=logged)

    harness.crawl(
        ["http://x.test/a", "http://x.test/missing"], EnqueueOptions(request_id="order-4711")
    )

    rows = {
        row["url"]: row
        for page_ in stream.read_pages(b"0", 1 << 50)
        for row in (orjson.loads(data) for _, data in page_)
    }
    present, missing = rows["http://x.test/a"], rows["http://x.test/missing"]
    assert (present["outcome"], present["status"], present["stored"]) == ("Fetched", 200, True)
    assert (missing["outcome"], missing["status"], missing["stored"]) == ("Gone", 404, False)
    assert present["request_id"] == "order-4711"
    assert set(present) == set(COLUMNS) - {"logged_at"}


def test_setting_enables_the_log_in_stages_schedule_and_metrics(redis_client, redis_url, tmp_path):
    fill(redis_client, 2, 3)
    settings = Settings(
        data_dir=tmp_path,
        redis=RedisSettings(url=redis_url),
        store=StoreSettings(engine="memory"),
        crawl_log=CrawlLogSettings(engine="folder", span_s=SPAN_S),
    )
    pipeline = connect(settings, Sent())
    before = {each.name: each.samples[0].value for each in crawl_log_metrics(components(settings))}

    pipeline.maintenance.write_crawl_log()

    pipeline.close()
    after = {each.name: each.samples[0].value for each in crawl_log_metrics(components(settings))}
    assert len(list((tmp_path / "crawl-log").rglob("*.parquet"))) == 2
    assert before["aragog_crawl_log_rows"] == 6
    assert before["aragog_crawl_log_lag_seconds"] > 3600
    assert after == {"aragog_crawl_log_rows": 0, "aragog_crawl_log_lag_seconds": 0}
    assert pipeline.store.crawl_log is not None


@pytest.mark.parametrize(("engine", "runs"), [("off", False), ("folder", True)])
def test_beat_writes_the_log_only_if_enabled(engine, runs):
    code = "from aragog.beat_schedule import beat_schedule; print(*beat_schedule)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ARAGOG_SETTINGS": "", "ARAGOG_CRAWL_LOG__ENGINE": engine},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ("write the crawl log" in done.stdout) is runs
