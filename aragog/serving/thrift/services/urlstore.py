"""
The calls of service UrlStore: argument structs in, values of the contract out.

The server adds `token` to each argument struct: the name of the caller's token.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from aragog.errors import BadInput, PermanentError
from aragog.serving.auth.field_writers import FieldWriters
from aragog.serving.batch_urls import normalized
from aragog.serving.hedging import ReadStore, unhedged
from aragog.serving.thrift.contract import MOST_ITEMS, Encoded, idl
from aragog.serving.thrift.errors import Missing
from aragog.serving.thrift.services import records
from aragog.serving.thrift.services.arguments import bounded, items, names, text
from aragog.serving.thrift.services.replies import MOST_REPLY_BYTES, facts_of, part_of
from aragog.urls.normalize import normalize
from aragog.urlstore.records import FieldValues, LinkRecord, ListPage, OutLink, Record
from aragog.urlstore.store import UrlStore

_PART = 100
"""URLs that are read together."""


class UrlStoreService:
    """
    Handles calls, each in a thread.

    Args:
        store: the store to read and write.
        read: makes reads; None: they are those of `store`.
        writers: who may write which fields.
    """

    def __init__(
        self,
        store: UrlStore,
        read: ReadStore | None = None,
        writers: FieldWriters | None = None,
    ) -> None:
        self._store = store
        self._writers = writers or FieldWriters({})
        self._read = read or unhedged(store)

    def get(self, given: Any) -> Any:
        fields, url = names(given.fields), text(given.url, "url")
        options = given.options
        if not fields or (options is not None and options.facts):
            record, standby = self._read(lambda store: store.get(url, fields or None))
            if record is None:
                raise Missing
            return _whole(_record(record, standby, facts=bool(options and options.facts)))
        asked = (normalize(url),)
        (values,), standby = self._read(lambda store: store.pages.values(asked, fields))
        if values is None:
            raise Missing
        return _whole(records.one(values, fields, from_standby=standby))

    @staticmethod
    def get_shares(arguments: Mapping[str, Any]) -> bool:
        """Calls of `get` that differ in their URL alone are one read, if they name fields."""
        options = arguments.get("options")
        return bool(arguments.get("fields")) and not (options is not None and options.facts)

    def get_together(self, given: Sequence[Any]) -> list[Any]:
        """The value or the exception of several calls of `get`: one read for those alike."""
        results: list[Any] = [None] * len(given)
        alike: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
        for place, call in enumerate(given):
            try:
                fields, url = names(call.fields), text(call.url, "url")
                if not fields or (call.options is not None and call.options.facts):
                    results[place] = self.get(call)
                else:
                    alike[fields].append((place, normalize(url)))
            except Exception as error:  # noqa: BLE001 - it is the result of this call alone
                results[place] = error
        for fields, asked in alike.items():
            result = self._values([url for _, url in asked], fields)
            for (place, _), value in zip(asked, result, strict=True):
                results[place] = value
        return results

    def _values(self, urls: Sequence[str], fields: tuple[str, ...]) -> list[Any]:
        """The record of each normalized URL as the value of `get`, or an exception."""
        try:
            result = self._read(lambda store: store.pages.values(urls, fields))[0]
            return [Missing() if each is None else _one(each, fields) for each in result]
        except Exception as error:  # noqa: BLE001 - it may be the result of one call alone
            if len(urls) == 1:
                return [error]
        return [value for url in urls for value in self._values([url], fields)]

    def getMany(self, given: Any) -> Any:  # noqa: N802 - its name in the contract
        urls, fields = items(given.urls, "urls"), names(given.fields)
        facts = bool(given.options is not None and given.options.facts)
        results: list[bytes] = []
        room = MOST_REPLY_BYTES
        for at in range(0, len(urls), _PART):
            read = self._part(urls[at : at + _PART], fields, facts=facts)
            room -= sum(map(len, read))
            results += read if room >= 0 else _fitting(read, room)
            if room < 0:
                break
        results += [_LEFT_OUT] * (len(urls) - len(results))
        return records.many(results, len(urls))

    def _part(self, urls: Sequence[str], fields: tuple[str, ...], *, facts: bool) -> list[bytes]:
        valid, refused = normalized(urls)
        try:
            results = self._results(valid, fields, facts=facts)
        except PermanentError:
            results = [self._alone(url, fields, facts=facts) for url in valid]
        for place, error in refused.items():
            results.insert(place, records.absent(idl.ItemStatus.BAD_INPUT, str(error)))
        return results

    def _results(self, urls: Sequence[str], fields: tuple[str, ...], *, facts: bool) -> list[bytes]:
        """A RecordResult of each normalized URL."""
        if fields and not facts:
            values, standby = self._read(lambda store: store.pages.values(urls, fields))
            return records.results(values, fields, _UNKNOWN, from_standby=standby)
        rows, standby = self._read(lambda store: store.get_many(urls, fields or None))
        return [
            _UNKNOWN if each is None else records.wrapped(_record(each, standby, facts=facts))
            for each in rows
        ]

    def _alone(self, url: str, fields: tuple[str, ...], *, facts: bool) -> bytes:
        try:
            return self._results([url], fields, facts=facts)[0]
        except PermanentError as error:
            return records.absent(idl.ItemStatus.DAMAGED, str(error))

    def put(self, given: Any) -> str:
        options = given.options or idl.PutOptions()
        fields = given.fields or {}
        self._writers.check(given.token, fields)
        return self._store.put(
            text(given.url, "url"),
            fields,
            at_ms=options.at_ms,
            provenance=options.provenance,
            if_version=options.if_version,
        )

    def deleteFields(self, given: Any) -> str:  # noqa: N802
        fields = names(given.names)
        self._writers.check(given.token, fields)
        return self._store.delete_fields(text(given.url, "url"), fields)

    def remove(self, given: Any) -> None:
        url = text(given.url, "url")
        self._writers.check_all(given.token, self._store, url)
        self._store.remove(url)

    def outlinks(self, given: Any) -> Any:
        url, limit = text(given.url, "url"), bounded(given.limit, "limit", 1, MOST_ITEMS)
        cursor = given.cursor or None
        return _links(self._read(lambda store: store.links.outlinks(url, limit, cursor))[0])

    def inlinks(self, given: Any) -> Any:
        url, limit = text(given.url, "url"), bounded(given.limit, "limit", 1, MOST_ITEMS)
        cursor = given.cursor or None
        return _links(self._read(lambda store: store.links.inlinks(url, limit, cursor))[0])

    def addLinks(self, given: Any) -> None:  # noqa: N802
        links = [
            OutLink(text(link.url, "links.url"), link.text or "", link.rel or "")
            for link in items(given.links, "links")
        ]
        self._store.links.add(text(given.url, "url"), links)

    def removeLinks(self, given: Any) -> None:  # noqa: N802
        self._store.links.remove(text(given.url, "url"), items(given.targets, "targets"))

    def countInlinks(self, given: Any) -> int:  # noqa: N802
        url = text(given.url, "url")
        count: int = self._read(lambda store: store.links.count_inlinks(url))[0]
        return count

    def content(self, given: Any) -> Any:
        options = given.options or idl.ContentOptions()
        stored = self._store.content(text(given.url, "url"))
        if stored is None:
            raise Missing
        begin = bounded(options.offset_bytes, "offset_bytes", 0, 2**62, 0)
        limit = bounded(options.limit_bytes, "limit_bytes", 1, MOST_REPLY_BYTES, MOST_REPLY_BYTES)
        return part_of(stored, begin, limit)

    def aliases(self, given: Any) -> list[str]:
        url = text(given.url, "url")
        urls: list[str] = self._read(lambda store: store.aliases.of(url))[0]
        return urls

    def history(self, given: Any) -> list[Any]:
        url, field = text(given.url, "url"), text(given.field, "field")
        past = self._read(lambda store: store.pages.history(url, field))[0]
        return [idl.PastValue(value=value, at_ms=at_ms) for value, at_ms in past]

    def watch(self, given: Any) -> None:
        self._store.schedule.watch(text(given.url, "url"), text(given.owner, "owner"))

    def unwatch(self, given: Any) -> None:
        self._store.schedule.unwatch(text(given.url, "url"), text(given.owner, "owner"))


_UNKNOWN = records.absent(idl.ItemStatus.NOT_FOUND, "nothing is known of this URL")


_LEFT_OUT = records.absent(
    idl.ItemStatus.LEFT_OUT, "the reply is full: ask for this URL in another call, or fewer fields"
)


def _fitting(results: list[bytes], excess: int) -> list[bytes]:
    """Results without the last ones, which exceed the room by `-excess` bytes."""
    while results and excess < 0:
        excess += len(results.pop())
    return results


def _one(values: FieldValues, fields: tuple[str, ...]) -> Encoded | BadInput:
    try:
        return _whole(records.one(values, fields))
    except BadInput as error:
        return error


def _whole(reply: Encoded) -> Encoded:
    """The reply of `get`, if it fits into a frame that clients accept."""
    if len(reply) > MOST_REPLY_BYTES:
        raise BadInput(f"fields: they have more than {MOST_REPLY_BYTES} bytes; ask for some only")
    return reply


def _record(record: Record, standby: bool, *, facts: bool) -> Encoded:
    fields = tuple(record.fields)
    values = FieldValues(
        record.url, record.canonical_url, record.version.encode(), tuple(record.fields.values())
    )
    if not facts:
        return records.one(values, fields, from_standby=standby)
    more = idl.Record(**facts_of(record))
    return records.one(values, fields, from_standby=standby, more=more)


def _links(page: ListPage[LinkRecord]) -> Any:
    links = [idl.Link(url=each.url, text=each.text, rel=each.rel) for each in page.items]
    return idl.LinkPage(links=links, cursor=page.cursor)
