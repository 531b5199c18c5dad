"""The exceptions of the library, and how they survive pickling by Celery."""

import pickle

import pytest

from pinlater import errors

EXAMPLES = {
    errors.BrokerUnavailable: ("redis", "refused"),
    errors.BrokerFull: ("redis", "full"),
    errors.InvalidArgument: ("rate: must be above 0",),
    errors.InvalidConfig: ("a: b", "c: d"),
    errors.InvalidMessage: ("eta", "is no time"),
}


def test_every_error_has_an_example():
    found = {cls for cls in vars(errors).values() if isinstance(cls, type)}

    assert {cls for cls in found if issubclass(cls, Exception)} - {errors.PinlaterError} == {
        *EXAMPLES
    }


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_errors_survive_pickling(cls):
    error = cls(*EXAMPLES[cls])

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is cls
    assert str(again) == str(error)
    assert all(part in str(error) for part in EXAMPLES[cls])
    assert isinstance(error, errors.PinlaterError)
