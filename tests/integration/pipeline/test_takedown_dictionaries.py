"""
A takedown while a dictionary is in use that the page was used for: real Redis, SQLite, a folder or
S3, an origin. From the fetch to the last byte, all stages run as in a worker.
"""

from dataclasses import replace

import pytest
import redis

from aragog.settings import ContentSettings, PolitenessSettings
from aragog.urlstore import zstd
from aragog.urlstore.compression import dictionary_id
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.dictionaries import dictionary_of
from tests.contract.test_pack_dictionaries import pieces_of, text_of
from tests.integration.pipeline.test_takedown_crawl import Crawl
from tests.support.origin import Origin, page

HOST = "http://keep.test/"
TAUGHT, LATER = range(80), range(1000, 1020)
BATCH = 40
TAKEDOWN_HOURS = 1e-9


def served(request, _wire):
    return page(text_of(int(request.path[1:])).encode())


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.s3)])
def content(request):
    if request.param == "folder":
        return ContentSettings(takedown_hours=TAKEDOWN_HOURS)
    return replace(request.getfixturevalue("s3_settings"), takedown_hours=TAKEDOWN_HOURS)


@pytest.fixture
def crawl(tmp_path, own_redis, content):
    with Origin({"*": served}) as origin:
        fast = PolitenessSettings(qps=1000, max_latency_slowdown=1)
        made = Crawl(tmp_path, own_redis.url, origin, content=content, politeness=fast)
        yield made
        made.pipeline.close()


def crawl_pages(crawl, numbers):
    for first in range(0, len(numbers), BATCH):
        crawl.crawl(*(f"{HOST}{n}" for n in numbers[first : first + BATCH]))


def packs_of(crawl):
    return crawl.store.bodies.packs


def use_dictionary(crawl):
    """Let upkeep train a dictionary on the stored pages, and return it."""
    store = crawl.store
    PackUpkeep(store.zen, store.bodies, store.clock.clock, trained_on_bytes=300_000).run()
    packs_of(crawl).shared.refresh()
    found = packs_of(crawl).shared.in_use()
    assert found is not None
    return found


def upkeep(crawl):
    """One round rewrites packs, and the next ones delete the replaced ones."""
    for _ in range(4):
        crawl.store.maintenance.upkeep_packs()


def every_pack(crawl):
    files = packs_of(crawl).files
    return [files.read_all(file.name) for file in files.packs()]


def text_in(dictionary):
    return zstd.decompress(dictionary.stored)


def stored_text(crawl):
    """All bytes of all packs and their dictionaries, decompressed."""
    packs = every_pack(crawl)
    dictionaries = [text_in(one) for pack in packs if (one := dictionary_of(pack))]
    return b"".join([*dictionaries, *(r for pack in packs for _, r in frames.records(pack))])


def test_no_byte_of_a_page_is_left_that_a_dictionary_was_trained_on(crawl, own_redis):
    crawl_pages(crawl, TAUGHT)
    text = text_in(use_dictionary(crawl))
    gone = next(n for n in TAUGHT if any(piece in text for piece in pieces_of(n)))
    crawl_pages(crawl, LATER)
    in_use = packs_of(crawl).shared.in_use().id
    assert list(packs_of(crawl).shared.records.packs_with(in_use))
    fetched = crawl.fetched(f"{HOST}2000")
    analyzed = crawl.analyzed(crawl.fetched(f"{HOST}2001"))
    spool = crawl.pipeline.store.spool
    assert [dictionary_id(spool.get_many([token])[0]) for token in analyzed.bodies] == [in_use]

    crawl.store.takedowns.take_down(url=f"{HOST}{gone}")
    upkeep(crawl)

    assert not any(piece in stored_text(crawl) for piece in pieces_of(gone))
    assert packs_of(crawl).shared.records.in_use() == 0
    kept = [n for n in (*TAUGHT, *LATER) if n != gone]
    assert all(crawl.store.content(f"{HOST}{n}").body == text_of(n).encode() for n in kept)
    assert crawl.store.content(f"{HOST}{gone}") is None
    other = crawl.other_process()
    again = [*other.canonicalize.run(fetched), *other.store.run(analyzed)]
    other.close()
    urls = [job.url for message in again for job in message.message.jobs]
    assert urls == [f"{HOST}2000", f"{HOST}2001"]
    # This process may still use the dictionary for half a minute; upkeep rewrites what it writes.
    crawl_pages(crawl, range(2000, 2002))
    upkeep(crawl)
    assert crawl.store.content(f"{HOST}2001").body == text_of(2001).encode()
    assert not any(piece in stored_text(crawl) for piece in pieces_of(gone))
    client = redis.Redis.from_url(own_redis.url)
    assert not any(
        piece in value for key in client.scan_iter("*spool:*") if (value := client.get(key))
        for piece in pieces_of(gone)
    )  # fmt: skip
