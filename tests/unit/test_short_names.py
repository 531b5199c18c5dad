"""A source checkout's `tasks` and `workers` are the modules of the package, under short names."""

import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["tasks.fetch", "tasks.routes", "tasks.store", "workers.app", "workers.roles"]
)
def test_a_short_name_is_the_module_itself(name):
    assert importlib.import_module(name) is importlib.import_module(f"aragog.{name}")
