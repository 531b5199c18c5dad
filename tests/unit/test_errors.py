import pickle

import pytest

from aragog import errors

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
