"""The store of an API process, built from its settings."""

from contextlib import ExitStack, closing

import pytest

from aragog.bootstrap.stores import serving_store, url_store
from aragog.settings import load_settings

URL = "http://a.example/"


def title(store):
    (values,) = store.pages.values([URL], ("title",))
    return values.values[0]


@pytest.mark.parametrize(("read_cache_s", "cached"), [("0", b"2"), ("60", b"1")])
def test_read_cache_follows_its_setting(tmp_path, read_cache_s, cached):
    environ = {
        "ARAGOG_DATA_DIR": str(tmp_path),
        "ARAGOG_STORE__ENGINE": "sqlite",
        "ARAGOG_SERVING__READ_CACHE_S": read_cache_s,
    }
    settings = load_settings(None, environ)
    with ExitStack() as stack:
        api, worker = [
            stack.enter_context(closing(open_store(settings)))
            for open_store in (serving_store, url_store)
        ]
        api.put(URL, {"title": b"1"})
        assert title(api) == b"1"

        worker.put(URL, {"title": b"2"})
        assert title(api) == cached
        api.put(URL, {"title": b"3"})
        assert title(api) == b"3"
