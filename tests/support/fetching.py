"""A fake for fetching on demand, which records its requests."""

from aragog.api.operations.fetching import FetchResponse, FetchState
from aragog.fetch_record.outcome import FetchRecord, Hop
from tests.support.stores import NOW_MS, page

URL = "http://shop.example/p/1"


class Fetching:
    """Replaces the workers: the page is stored when the wait is over."""

    def __init__(self, store):
        self.store, self.asked = store, []

    def fetch_now(self, request):
        self.asked.append(request)
        hop = Hop(url="http://old.example/", status=301, target=URL, latency_ms=1.5)
        report = FetchRecord(
            url=request.url, outcome="Fetched", fetched_at_ms=NOW_MS, final_url=URL, status=200,
            headers=(("X-One", "1"), ("X-One", "2")), hops=(hop,), total_ms=12.5,
        )  # fmt: skip
        self.store.write_pages([page(URL, fields={"title": b"T"}, report=report)])
        record = self.store.get(request.url, request.fields)
        return FetchResponse(url=request.url, record=record, state=FetchState.FRESH, age_s=0.25)

    def steps(self, request):
        yield from ()
        return self.fetch_now(request)

    async def fetch_now_async(self, request, run):
        return await run(lambda: self.fetch_now(request))

    def drain(self):
        """Nobody waits."""
