"""The store of a process of the API, from its settings."""

from contextlib import ExitStack, closing

import pytest

from aragog.bootstrap.stores import served_store, url_store
from aragog.settings import load_settings

URL = "http://a.example/"


def title(store):
    (values,) = store.pages.values([URL], ("title",))
    return values.values[0]


@pytest.mark.parametrize(("read_cache_s", "seen"), [("0", b"2"), ("60", b"1")])
def test_plain_reads_are_cached_if_the_settings_say_so(tmp_path, read_cache_s, seen):
    environ = {
        "ARAGOG_DATA_DIR": str(tmp_path),
        "ARAGOG_STORE__ENGINE": "sqlite",
        "ARAGOG_SERVING__READ_CACHE_S": read_cache_s,
    }
    settings = load_settings(None, environ)
    with ExitStack() as stack:
        api, worker = [
            stack.enter_context(closing(open_store(settings)))
            for open_store in (served_store, url_store)
        ]
        api.put(URL, {"title": b"1"})
        assert title(api) == b"1"

        worker.put(URL, {"title": b"2"})
        assert title(api) == seen
        api.put(URL, {"title": b"3"})
        assert title(api) == b"3"
