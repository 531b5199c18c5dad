import pickle

import pytest

from urlspelling import InvalidSiteRules, InvalidUrl, UrlSpellingError


@pytest.mark.parametrize(
    "error", [InvalidUrl("ftp://a/", "not an http(s) URL"), InvalidSiteRules("a: b", "c: d")]
)
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("kind", [InvalidUrl, InvalidSiteRules])
def test_errors_are_value_errors_of_this_package(kind):
    assert issubclass(kind, UrlSpellingError)
    assert issubclass(kind, ValueError)


def test_long_url_is_cut_in_the_message():
    assert len(str(InvalidUrl("x" * 5000, "too long"))) < 300
