"""Exceptions of the libraries as raised by a client without a server."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from aragog.client.direct_backend import DirectBackend
from aragog.errors import (
    BadInput,
    BrokerUnavailable,
    CorruptRow,
    InvalidUrl,
    NotUnique,
    PermanentError,
    StoreUnavailable,
    TransientError,
)


@dataclass(frozen=True)
class Nothing:
    """A request without options."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (NotUnique("email", "00ff"), BadInput),
        (InvalidUrl("x", "no scheme"), InvalidUrl),
        (StoreUnavailable("sqlite", "is locked"), TransientError),
        (BrokerUnavailable("redis", "refused"), TransientError),
        (CorruptRow("n", "00ff", "short"), PermanentError),
        (BadInput("limit: too large"), BadInput),
    ],
    ids=lambda each: getattr(each, "__name__", type(each).__name__),
)
def test_library_errors_are_translated_to_client_errors(raised, expected):
    def run(caller, request):
        raise raised

    with pytest.raises(expected) as caught:
        DirectBackend(None).call(SimpleNamespace(run=run), Nothing(), limit_s=1)

    assert str(caught.value) == str(raised)
