"""`from aragog.tasks import fetch` gives a module; somebody who knows Celery calls it as a task."""

import importlib

import pytest


@pytest.mark.parametrize("name", ["fetch", "canonicalize", "store"])
def test_a_module_of_a_task_is_called_as_its_task(name):
    module = importlib.import_module(f"aragog.tasks.{name}")
    task = getattr(module, name)

    signature = module.s("http://a.test/")

    assert (signature.task, signature.args) == (task.name, ("http://a.test/",))
    assert module.delay == task.delay
    assert module.apply_async == task.apply_async
    with pytest.raises(AttributeError, match="has no attribute 'dealy'"):
        module.dealy  # noqa: B018
