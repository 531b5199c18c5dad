"""What a task does while our own infrastructure does not answer."""

import importlib
from types import SimpleNamespace

import pytest
from celery.exceptions import Ignore, Reject, Retry

from aragog.errors import BrokerUnavailable, InvalidMessage, NewerMessage
from aragog.tasks.policy import (
    MAX_BACKOFF_S,
    RETURN_DELAY_S,
    retry_after_defect,
    retry_after_outage,
    return_message,
    stage,
)
from pinlater.envelope import ATTEMPT_PROPERTY
from pinlater.worker import RunLater

DOWN = BrokerUnavailable("broker", "connection refused")


class Task:
    """A task whose retry ends with the given outcome."""

    def __init__(self, outcome, retries=0):
        self.request = SimpleNamespace(retries=retries)
        self.outcome = outcome
        self.waits = []

    def retry(self, exc, countdown):
        self.waits.append(countdown)
        raise self.outcome


def test_it_is_tried_again_later():
    task = Task(Retry())

    with pytest.raises(Retry):
        retry_after_outage(task, DOWN)


def test_waits_grow_up_to_a_bound():
    for retries in (0, 5, 150):
        task = Task(Retry(), retries)
        with pytest.raises(Retry):
            retry_after_outage(task, DOWN)

        assert 0 <= task.waits[0] <= min(MAX_BACKOFF_S, 2**retries)


def test_a_retry_that_cannot_be_sent_gives_the_message_back_instead_of_dropping_it():
    with pytest.raises(Reject) as caught:
        retry_after_outage(Task(Reject("broker is down", requeue=False)), DOWN)

    assert caught.value.requeue is True


def test_the_last_of_many_tries_ends_with_the_reason():
    with pytest.raises(BrokerUnavailable):
        retry_after_outage(Task(DOWN, 200), DOWN)


def test_a_defect_is_tried_again_up_to_ten_times_where_the_broker_counts_no_attempts():
    task = Task(Retry())
    with pytest.raises(Retry):
        retry_after_defect(task, KeyError("x"))
    assert task.waits[0] > 1

    with pytest.raises(KeyError):
        retry_after_defect(Task(Retry(), retries=9), KeyError("x"))


def test_arguments_that_a_task_does_not_take_make_a_message_that_cannot_be_read():
    @stage("test.one_argument")
    def one_argument(message):
        raise AssertionError(message)

    with pytest.raises(InvalidMessage, match=r"one_argument: too many positional arguments"):
        one_argument.run("a", "b")


def test_every_stage_is_retried_by_its_broker():
    @stage("test.retried")
    def retried():
        pass

    assert retried.broker_retries


class Newer(Task):
    """A task whose message only a newer version can read, on a broker other than pinlater."""

    def __init__(self, error=None):
        super().__init__(None, retries=3)
        self.request = SimpleNamespace(
            retries=3, properties={}, args=({"v": 2},), kwargs={}, delivery_info={}
        )
        self.error, self.sent = error, []

    def signature_from_request(self, request, args, kwargs, **options):
        def apply_async():
            if self.error:
                raise self.error
            self.sent.append((args, options))

        return SimpleNamespace(apply_async=apply_async)


NEWER = NewerMessage("batch", "version 2 is not 1")


def test_a_message_of_a_newer_version_is_sent_again_unchanged_and_that_is_not_an_attempt():
    task = Newer()

    with pytest.raises(Ignore):
        return_message(task, str(NEWER), RETURN_DELAY_S)

    ((args, options),) = task.sent
    assert (args, options["retries"]) == (({"v": 2},), 3)
    assert RETURN_DELAY_S / 2 <= options["countdown"] <= RETURN_DELAY_S * 1.5


def test_a_message_of_a_newer_version_that_cannot_be_sent_again_stays_in_its_queue():
    with pytest.raises(RunLater) as caught:
        return_message(Newer(OSError("broker is down")), str(NEWER), RETURN_DELAY_S)

    assert (caught.value.requeue, caught.value.counts) == (True, False)


def test_a_job_of_a_newer_version_is_given_back_to_pinlater_without_an_attempt():
    task = Newer()
    task.request.properties[ATTEMPT_PROPERTY] = 1

    with pytest.raises(RunLater) as caught:
        return_message(task, str(NEWER), RETURN_DELAY_S)

    assert (task.sent, caught.value.counts) == ([], False)
    assert caught.value.delay_s >= RETURN_DELAY_S / 2


@pytest.mark.parametrize("name", ["fetch", "canonicalize", "store"])
def test_a_module_of_a_task_is_called_as_its_task(name):
    module = importlib.import_module(f"aragog.tasks.{name}")
    task = getattr(module, name)

    signature = module.s("http://a.test/")

    assert (signature.task, signature.args) == (task.name, ("http://a.test/",))
    assert (module.delay, module.apply_async) == (task.delay, task.apply_async)
    with pytest.raises(AttributeError, match="has no attribute 'dealy'"):
        module.dealy  # noqa: B018
