"""The examples in docstrings of the Python API print what they show."""

import doctest

import pytest

from aragog.api.operations.operation import Parts
from aragog.client import Client, producer, store_client
from aragog.client.direct_backend import DirectBackend
from aragog.settings import StoreSettings, load_settings
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.store import UrlStore
from pinlater.brokers import of_socket
from zengraph.tables.memory import MemoryTables


def test_store_client_examples_are_correct():
    store = UrlStore(MemoryTables(), MemoryContent(), StoreSettings())
    with Client(DirectBackend(Parts(store=store))) as client:
        failed, tried = doctest.testmod(store_client, extraglobs={"client": client})

    assert (failed, tried >= 4) == (0, True)


@pytest.mark.redis
def test_producer_examples_are_correct(own_redis, tmp_path, monkeypatch):
    for name, value in {
        "DATA_DIR": tmp_path,
        "REDIS__URL": own_redis.url,
        "BROKER__URL": of_socket(own_redis.socket, 1),
        "FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "SETTINGS": "",
    }.items():
        monkeypatch.setenv(f"ARAGOG_{name}", str(value))
    settings = load_settings().resolved()

    failed, tried = doctest.testmod(producer, extraglobs={"settings": settings})

    assert (failed, tried >= 1) == (0, True)
