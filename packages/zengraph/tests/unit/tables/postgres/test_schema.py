"""Problems that doctor reports about a PostgreSQL server, based on its settings."""

import pytest

from zengraph.tables.postgres.schema import ServerFacts, problems_of_server

FINE = ServerFacts("150018", "UTF8", "false", "off", "on", "true")


def test_a_supported_server_has_no_problem():
    assert list(problems_of_server(FINE)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": "140021"}, "the server is PostgreSQL 14: zengraph needs 15 or newer"),
        ({"encoding": "SQL_ASCII"}, "has the encoding SQL_ASCII, not UTF8"),
        ({"is_read_only": "on"}, "set default_transaction_read_only to off"),
        ({"autovacuum": "off"}, "set autovacuum and track_counts to on"),
    ],
)
def test_problem_is_reported_with_its_remedy(changes, problem):
    (found,) = problems_of_server(FINE._replace(**changes))

    assert problem in found


def test_replica_is_reported_once():
    """A replica is also read-only."""
    found = list(problems_of_server(FINE._replace(is_replica="true", is_read_only="on")))

    assert found == ["the server is a replica: name the primary in dsn"]
