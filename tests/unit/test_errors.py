import importlib
import pickle

import pytest

from aragog import errors
from scripts.packages import libraries

EXAMPLES = {
    errors.ConfigError: ("a: b", "c: d"),
    errors.InvalidUrl: ("x" * 500, "no scheme"),
    errors.InvalidField: ("f", "too long"),
    errors.NotUnique: ("email", "00ff"),
    errors.TakenDown: ("http://a/",),
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
    errors.BrowserUnavailable: ("rendering.browser", "is not installed"),
    errors.AccessDenied: ("needs a bearer token",),
    errors.ServiceUnavailable: ("http://a/", "is full", 2.0),
    errors.SlowDown: ("redis", "85% in use", 5.0),
    errors.CorruptRow: ("n", "00ff", "short"),
    errors.CorruptContent: ("ab/cd", "hash"),
}


def leaves(cls: type[Exception]) -> set[type[Exception]]:
    below = cls.__subclasses__()
    return set().union(*map(leaves, below)) if below else {cls}


def test_every_leaf_of_the_tree_has_an_example():
    ours = {c for c in leaves(errors.AragogError) if c.__module__ == errors.__name__}

    assert ours <= set(EXAMPLES)


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda c: c.__name__)
def test_an_error_survives_pickling_with_its_message(cls):
    error = cls(*EXAMPLES[cls])

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is cls
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_long_url_is_cut_in_the_message():
    assert len(str(errors.InvalidUrl("x" * 5000, "too long"))) < 300


def public_errors(library):
    """The exceptions that a library defines, but for its base class."""
    module = importlib.import_module(f"{library.imported_as}.errors")
    own = [
        e for e in vars(module).values() if isinstance(e, type) and e.__module__ == module.__name__
    ]
    return [e for e in own if issubclass(e, Exception) and not issubclass(e, ExceptionGroup)]


@pytest.mark.parametrize("library", libraries(), ids=lambda each: each.name)
def test_each_error_of_a_library_has_one_remedy(library):
    kinds = public_errors(library)
    bases = [kind for kind in kinds if kind in errors.ALL]

    remedies = {
        kind: [name for name, some in errors.REMEDIES.items() if issubclass(kind, some)]
        for kind in kinds
        if kind not in bases
    }

    assert len(bases) == 1
    assert remedies
    assert all(issubclass(kind, bases[0]) for kind in kinds)
    assert {kind: found for kind, found in remedies.items() if len(found) != 1} == {}
