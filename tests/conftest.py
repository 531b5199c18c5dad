"""Fixtures are kept beside the servers they start, in tests/support/, one module a server."""

pytest_plugins = [
    "tests.support.redis_server",
    "tests.support.tables",
]
