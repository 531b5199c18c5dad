"""The examples in docstrings of the classes that programs use directly print the output shown."""

import doctest
from contextlib import closing
from dataclasses import replace

import pytest

from aragog.crawl.fetcher import fetcher
from aragog.crawl.politeness import limiter
from aragog.settings import Settings, loading
from aragog.urlstore import links, records, store
from aragog.urlstore.content import MemoryContent
from tests.support.origin import Origin, page
from zengraph.tables.memory import MemoryTables


def assert_examples(module, count, **names):
    """Run a module's examples. `count` is their minimum number, so that none disappears unnoticed."""
    failed, tried = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert (failed, tried >= count) == (0, True)


@pytest.mark.parametrize(("module", "count"), [(store, 6), (links, 4), (records, 4)])
def test_examples_of_the_store_are_correct(module, count):
    settings = Settings()
    opened = store.UrlStore(MemoryTables(), MemoryContent(), settings.store)
    with closing(opened):
        assert_examples(module, count, store=opened)


def test_examples_of_the_fetcher_are_correct():
    with Origin({"/hat": page(b"<h1>Hat</h1>")}) as origin:
        fetch = replace(
            Settings().fetch,
            user_agent="mybot/1.0 (+https://bot.example/)",
            allowed_networks=("127.0.0.1/32",),
            allowed_ports=(origin.port,),
        )
        settings = replace(Settings(), fetch=fetch)

        assert_examples(fetcher, 5, settings=settings, url=origin.url("/hat"))


def test_examples_of_the_settings_loader_are_correct(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert_examples(loading, 3)


@pytest.mark.redis
def test_examples_of_the_limiter_are_correct(redis_url):
    assert_examples(limiter, 4, redis_url=redis_url)
