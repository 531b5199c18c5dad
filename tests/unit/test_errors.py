import inspect
import pickle
from importlib import import_module
from types import ModuleType

import pytest

from aragog import errors
from richpins import MissingExtra
from richpins.errors import InvalidKind
from scripts.packages import libraries
from urlspelling import InvalidSiteRules

LIBRARIES = [import_module(f"{each.imported_as}.errors") for each in libraries()]
"""The `errors` module of each library."""

EXAMPLES = {
    errors.ConfigError: ("a: b", "c: d"),
    errors.InvalidUrl: ("x" * 500, "no scheme"),
    InvalidSiteRules: ("sites.toml: site 1: host must be", "sites.toml: x is not a known key"),
    MissingExtra: ("text", "trafilatura"),
    InvalidKind: (["each: is no selector"],),
    errors.InvalidField: ("f", "too long"),
    errors.NotUnique: ("email", "00ff"),
    errors.TakenDown: ("http://a/",),
    errors.ValueTaken: ("email", "http://a/"),
    errors.SizeExceeded: ("the record would have 17 MiB",),
    errors.Unsupported: ("this server does not fetch",),
    errors.InvalidMessage: ("batch.v", "unknown"),
    errors.NewerMessage: ("batch", "version 2 is not 1"),
    errors.VersionConflict: ("http://a/", "1", "2"),
    errors.StoreUnavailable: ("sqlite", "disk full"),
    errors.StoreDamaged: ("05.db", "is damaged"),
    errors.ContentUnavailable: ("s3", "503"),
    errors.Unfinished: ("graph", "the node has more edges; repeat"),
    errors.ContentReplaced: ("content ab/cd", "is being replaced"),
    errors.LimiterUnavailable: ("redis", "refused"),
    errors.RobotsUnavailable: ("redis", "refused"),
    errors.SpoolUnavailable: ("redis", "full"),
    errors.BrokerUnavailable: ("redis", "refused"),
    errors.BrokerFull: ("redis", "full"),
    errors.InvalidArgument: ("rate: must be above 0",),
    errors.InvalidConfig: ("a: b", "c: d"),
    errors.InvalidGraphArgument: ("graph: no such name",),
    errors.InvalidGraphConfig: ("a: b", "c: d"),
    errors.BrowserUnavailable: ("rendering.browser", "is not installed"),
    errors.AccessDenied: ("a bearer token is required",),
    errors.ServiceUnavailable: ("http://a/", "is full", 2.0),
    errors.QuotaExceeded: ("token ana", "urls_a_day: 5 of 5 are used", "urls_a_day", 5, 5, 60.0),
    errors.SlowDown: ("redis", "85% in use", 5.0),
    errors.CorruptRow: ("n", "00ff", "short"),
    errors.CorruptContent: ("ab/cd", "hash"),
}


ANSWERS = {errors.VersionConflict: "read again", errors.AccessDenied: "use another token"}
"""Errors of aragog for which `REMEDIES` has no remedy."""


def own(module: ModuleType) -> list[type[Exception]]:
    """The exceptions defined by a module, without its base class."""
    found = [cls for _, cls in inspect.getmembers(module, inspect.isclass)]
    return [
        cls
        for cls in found
        if issubclass(cls, Exception)
        and cls.__module__ == module.__name__
        and cls not in errors.ALL
    ]


def leaves(cls: type[Exception]) -> set[type[Exception]]:
    below = cls.__subclasses__()
    return set().union(*map(leaves, below)) if below else {cls}


def test_every_leaf_of_the_tree_has_an_example():
    ours = {
        cls
        for base in errors.ALL
        for cls in leaves(base)
        if cls.__module__ in {module.__name__ for module in (errors, *LIBRARIES)}
    }

    assert ours <= set(EXAMPLES)


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda c: c.__name__)
def test_error_survives_pickling_with_its_message(cls):
    error = cls(*EXAMPLES[cls])

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is cls
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_long_url_is_truncated_in_the_message():
    assert len(str(errors.InvalidUrl("x" * 5000, "too long"))) < 300


@pytest.mark.parametrize("library", [errors, *LIBRARIES], ids=lambda module: module.__name__)
def test_every_public_error_has_one_remedy(library):
    remedies = {
        cls: [name for name, classes in errors.REMEDIES.items() if issubclass(cls, classes)]
        for cls in own(library)
        if cls not in ANSWERS
    }

    assert remedies
    assert [(cls, names) for cls, names in remedies.items() if len(names) != 1] == []


@pytest.mark.parametrize("library", [errors, *LIBRARIES], ids=lambda module: module.__name__)
def test_all_contains_every_error_of_every_library(library):
    assert [cls for cls in own(library) if not issubclass(cls, errors.ALL)] == []
    assert sum(cls.__module__ == library.__name__ for cls in errors.ALL) == 1
