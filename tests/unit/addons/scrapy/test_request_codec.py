"""Scrapy requests as JSON."""

import sys
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from types import ModuleType

import orjson
import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request
from scrapy.http import Headers, JsonRequest
from scrapy.settings import Settings

from aragog.addons.scrapy.request_codec import from_json, to_json
from aragog.errors import InvalidMessage
from aragog.settings import FetchSettings


class Lamp(scrapy.Item):
    name = scrapy.Field()


@dataclass
class Chair:
    name: str = ""


@dataclass(frozen=True)
class Money:
    amount: object = 0


@dataclass
class Numbered:
    """A class whose constructor cannot restore all fields."""

    name: str = ""
    number: int = field(init=False, default=1)


@dataclass
class Rounded:
    """A class whose constructor changes its argument."""

    price: object = 0

    def __post_init__(self):
        self.price = round(self.price)


class Shop:
    @dataclass
    class Shelf:
        """A class that `load_object` does not find."""

        name: str = ""


class Odd:
    """An object whose repr fails."""

    def __repr__(self):
        raise RuntimeError("no text")


class Size(IntEnum):
    SMALL = 1


class Color(StrEnum):
    RED = "red"


class Word(str):
    """Similar to lxml's text results."""

    __slots__ = ()


class PageRequest(Request):
    """A request with another constructor than its base class."""

    def __init__(self, number):
        super().__init__(f"http://a.test/?page={number}")


Pair = namedtuple("Pair", "one other")  # noqa: PYI024 - the plainest subclass of a tuple


def rounded(price):
    item = Rounded()
    item.price = price
    return item


def endless():
    values = []
    values.append(values)
    return values


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


class ShopSpider(scrapy.Spider):
    name = "shop"
    leave = staticmethod(sys.exit)

    def parse_lamp(self, response):
        """A callback."""

    def failed(self, failure):
        """An errback."""


SPIDER = ShopSpider()


def again(request):
    return from_json(to_json(request, SPIDER), SPIDER)


def test_request_round_trips():
    request = Request(
        "http://a.test/?b=1&a=2#f", callback=SPIDER.parse_lamp, errback=SPIDER.failed,
        headers={"X-A": ["1", "2"]}, cookies={"c": "d"}, priority=-3, dont_filter=True,
        meta={"depth": 2, "pair": (1, b"\xff"), "set": {1}, 7: "seven"},
        cb_kwargs={"n": None}, flags=["f"], encoding="cp1252",
    )  # fmt: skip

    assert again(request).to_dict(spider=SPIDER) == request.to_dict(spider=SPIDER)


@pytest.mark.parametrize("item", [Lamp(name="Brass"), Chair("Oak"), {"!bytes": "a word"}])
def test_items_in_meta_round_trip(item):
    assert again(Request("http://a.test/", meta={"item": item})).meta["item"] == item


def test_class_of_a_request_is_kept():
    request = FormRequest("http://a.test/", formdata={"a": "b"})

    assert type(again(request)) is FormRequest
    assert again(request).body == b"a=b"


def local_class():
    @dataclass
    class Local:
        name: str = ""

    return Local


# Factories, since each test needs a new defaultdict or self-referencing list.
NOT_SENT = {
    "a large number": lambda: 1 << 70,
    "infinity": lambda: float("inf"),
    "not a number": lambda: float("nan"),
    "a lone surrogate": lambda: "\ud800",
    "a subclass of str": lambda: Word("lamp"),
    "an IntEnum": lambda: Size.SMALL,
    "a StrEnum": lambda: Color.RED,
    "a key that is a StrEnum": lambda: {Color.RED: 1},
    "a namedtuple": lambda: Pair(1, 2),
    "a defaultdict": lambda: defaultdict(list, a=[1]),
    "a defaultdict with numbers": lambda: defaultdict(list, {1: [1]}),
    "a Counter": lambda: Counter({1: 2}),
    "an OrderedDict": lambda: OrderedDict(a=1),
    "headers": lambda: Headers({"A": "b"}),
    "a bytearray": lambda: bytearray(b"a"),
    "a decimal": lambda: Decimal(1),
    "a time": lambda: datetime(2026, 1, 1, tzinfo=UTC),
    "a spider": lambda: SPIDER,
    "an object without text": Odd,
    "a field that the constructor does not take": Numbered,
    "a constructor that changes the value": lambda: rounded(1.5),
    "a nested class": Shop.Shelf,
    "a local class": local_class(),
    "a recursive list": endless,
    "too many levels": lambda: nested(300),
}


@pytest.mark.parametrize("make", NOT_SENT.values(), ids=NOT_SENT)
@pytest.mark.parametrize("where", ["meta", "cb_kwargs"])
def test_value_that_would_not_arrive_unchanged_is_refused(make, where):
    with pytest.raises(ValueError):
        to_json(Request("http://a.test/", **{where: {"value": make()}}), SPIDER)


@pytest.mark.parametrize(
    "request_", [
        Request("http://a.test/", callback=lambda response: None),
        Request("http://a.test/", cookies=OrderedDict(a="b")),
        JsonRequest("http://a.test/", data={}, dumps_kwargs={"default": repr}),
        PageRequest(2),
        type("Unnamed", (Request,), {})("http://a.test/"),
    ]
)  # fmt: skip
def test_request_that_another_process_could_not_rebuild_is_refused(request_):
    with pytest.raises(ValueError):
        to_json(request_, SPIDER)


def test_meta_can_be_added():
    request = Request("http://a.test/", meta={"depth": 2})

    body = to_json(request, SPIDER, {"mark": True})

    assert from_json(body, SPIDER).meta == {"depth": 2, "mark": True}
    assert request.meta == {"depth": 2}


sent_leaves = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.binary(max_size=9)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8"))
)  # fmt: skip
any_leaves = (
    sent_leaves | st.integers() | st.floats() | st.text(st.characters())
    | st.sampled_from([*NOT_SENT.values()]).map(lambda make: make())
)  # fmt: skip


def values_of(leaves):
    hashable = st.recursive(
        leaves.filter(can_be_hashed),
        lambda inner: (
            st.tuples(inner, inner) | st.frozensets(inner, max_size=3) | st.builds(Money, inner)
        ),
        max_leaves=4,
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.tuples(inner) | st.sets(hashable, max_size=3)
            | st.dictionaries(hashable | st.just("!set"), inner, max_size=3)
            | st.builds(Lamp, name=inner) | st.builds(Chair, name=inner)
        ),
        max_leaves=8,
    )  # fmt: skip


def can_be_hashed(value):
    try:
        return isinstance(hash(value), int)
    except TypeError:
        return False


def typed(value):
    """A form of the value whose equality also compares types."""
    kind = type(value)
    if isinstance(value, dict):
        return kind, [(typed(key), typed(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return kind, [typed(each) for each in value]
    if isinstance(value, set | frozenset):
        return kind, sorted((typed(each) for each in value), key=repr)
    if isinstance(value, scrapy.Item):
        return kind, typed(dict(value))
    if isinstance(value, Chair | Money | Rounded):
        return kind, typed(vars(value))
    return kind, repr(value)


@given(values_of(sent_leaves))
def test_values_of_known_types_round_trip_with_their_types(value):
    arrived = again(Request("http://a.test/", meta={"value": value}, cb_kwargs={"value": value}))

    assert typed(arrived.meta["value"]) == typed(value) == typed(arrived.cb_kwargs["value"])


@given(values_of(any_leaves))
def test_any_request_arrives_unchanged_or_is_refused(value):
    request = Request("http://a.test/", meta={"value": value})
    try:
        body = to_json(request, SPIDER)
    except ValueError:
        return  # the scheduler keeps it in its own process

    assert typed(from_json(body, SPIDER).meta["value"]) == typed(value)


@pytest.mark.parametrize(
    "body", [
        b"", b"[]", b'{"v": 2}', b'{"v": 1, "request": {"url": "no url"}}',
        to_json(Request("http://a.test/", callback=SPIDER.failed), SPIDER).replace(b"failed", b"gone"),
        b'{"v": 1, "request": {"url": "http://a.test/", "_class": "os.system"}}',
        b'{"v": 1, "request": {"url": "http://a.test/", "meta": {"!item": ["os.system", {}]}}}',
        b'{"v": 1, "request": {"url": "http://a.test/", "meta": {"!pickle": "x"}}}',
    ]
)  # fmt: skip
def test_request_of_another_version_or_spider_is_an_invalid_message(body):
    with pytest.raises(InvalidMessage):
        from_json(body, SPIDER)


assert FetchSettings, "imported so that messages can refer to it in this module"
HOSTILE = {
    "a module that is not imported": {"meta": {"!item": ["this.s", {}]}},
    "a module that exits the process": {"_class": "venv.__main__.x"},
    "a class of another package": {"meta": {"a": {"!item": ["aragog.settings.FetchSettings", {}]}}},
    "a request class of another package": {"_class": "tests_of_unlisted.Request"},
    "a class that a spider module only imports": {
        "meta": {"a": {"!item": [f"{__name__}.FetchSettings", {}]}}
    },
    "a file": {"url": "file:///etc/passwd"},
    "a bucket": {"url": "s3://bucket/key"},
    "data": {"url": "data:text/html,x"},
    "a callback that is not a method": {"callback": "leave"},
    "a callback that is a class": {"callback": "__class__"},
}


@pytest.mark.parametrize("fields", HOSTILE.values(), ids=HOSTILE)
def test_message_cannot_import_modules_or_build_arbitrary_classes(fields, monkeypatch):
    """Regression: `venv.__main__` was imported and ended the process; any class could be built."""
    unlisted = ModuleType("tests_of_unlisted")
    unlisted.Request = type("Request", (Request,), {"__module__": unlisted.__name__})
    monkeypatch.setitem(sys.modules, unlisted.__name__, unlisted)
    body = orjson.dumps({"v": 1, "request": {"url": "http://a.test/", **fields}})
    before = set(sys.modules)

    with pytest.raises(InvalidMessage):
        from_json(body, SPIDER)

    assert not {"this", "venv", "venv.__main__"} & (set(sys.modules) - before)


def test_classes_of_other_packages_are_accepted_if_a_setting_lists_them():
    spider = ShopSpider()
    body = b'{"v": 1, "request": {"url": "http://a.test/", "meta": {"a": {"!item": ["%b", {}]}}}}'
    shelf, counter = b"tests_of_others.Shelf", b"fractions.Fraction"
    module = sys.modules["tests_of_others"] = ModuleType("tests_of_others")
    module.Shelf = make_dataclass("Shelf", [("name", str, "")])
    module.Shelf.__module__ = "tests_of_others"

    with pytest.raises(InvalidMessage, match="add it to ARAGOG_REQUEST_CLASSES"):
        from_json(body % shelf, spider)
    spider.settings = Settings({"ARAGOG_REQUEST_CLASSES": [shelf.decode(), counter.decode()]})
    with pytest.raises(InvalidMessage, match="is not an item class"):
        from_json(body % counter, spider)

    assert from_json(body % shelf, spider).meta == {"a": module.Shelf()}
    del sys.modules["tests_of_others"]
