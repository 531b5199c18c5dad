"""Which server program is run on one machine."""

import pytest

from aragog.standalone.redis_server import bundled_server, find_redis_server, program_at


@pytest.fixture
def program(tmp_path):
    """Makes a program that only prints the given version."""

    def make(name, shown):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{shown}'\n")
        path.chmod(0o755)
        return path

    return make


def test_bundled_server_is_a_recent_valkey():
    bundled = bundled_server()

    assert bundled.name == "Valkey"
    assert bundled.version >= (9, 1)


def test_older_installed_server_is_not_used(tmp_path, program):
    program("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64")

    assert find_redis_server(str(tmp_path)) == bundled_server()


def test_newer_installed_server_is_preferred(tmp_path, program):
    path = program("valkey-server", "Valkey server v=99.10.1 sha=00000000:0 malloc=libc bits=64")

    assert find_redis_server(str(tmp_path)) == (path, "Valkey", (99, 10, 1))


def test_versions_are_compared_as_numbers(tmp_path, program):
    program("redis-server", "Redis server v=99.9.0 sha=00000000:0")
    newer = program("valkey-server", "Valkey server v=99.10.0 sha=00000000:0")

    assert find_redis_server(str(tmp_path)).path == newer


def test_program_of_another_kind_is_skipped(tmp_path, program):
    other = program("redis-server", "KeyDB server v=999.0")

    assert program_at(other) is None
    assert find_redis_server(str(tmp_path)) == bundled_server()
