"""What a task does during an outage of our own infrastructure."""

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


def test_task_is_retried():
    task = Task(Retry())

    with pytest.raises(Retry):
        retry_after_outage(task, DOWN)


def test_backoff_grows_up_to_a_limit():
    for retries in (0, 5, 150):
        task = Task(Retry(), retries)
        with pytest.raises(Retry):
            retry_after_outage(task, DOWN)

        assert 0 <= task.waits[0] <= min(MAX_BACKOFF_S, 2**retries)


def test_message_is_returned_when_a_retry_cannot_be_sent():
    with pytest.raises(Reject) as caught:
        retry_after_outage(Task(Reject("broker is down", requeue=False)), DOWN)

    assert caught.value.requeue is True


def test_last_retry_raises_the_error():
    with pytest.raises(BrokerUnavailable):
        retry_after_outage(Task(DOWN, 200), DOWN)


def test_defect_is_retried_up_to_ten_times_if_the_broker_counts_no_attempts():
    task = Task(Retry())
    with pytest.raises(Retry):
        retry_after_defect(task, KeyError("x"))
    assert task.waits[0] > 1

    with pytest.raises(KeyError):
        retry_after_defect(Task(Retry(), retries=9), KeyError("x"))


def test_wrong_arguments_are_an_invalid_message():
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
    """A task with a message of a newer version, on a broker other than pinlater."""

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


def test_message_of_a_newer_version_is_resent_unchanged_without_counting_an_attempt():
    task = Newer()

    with pytest.raises(Ignore):
        return_message(task, str(NEWER), RETURN_DELAY_S)

    ((args, options),) = task.sent
    assert (args, options["retries"]) == (({"v": 2},), 3)
    assert RETURN_DELAY_S / 2 <= options["countdown"] <= RETURN_DELAY_S * 1.5


def test_message_of_a_newer_version_that_cannot_be_resent_stays_in_its_queue():
    with pytest.raises(RunLater) as caught:
        return_message(Newer(OSError("broker is down")), str(NEWER), RETURN_DELAY_S)

    assert (caught.value.requeue, caught.value.counts) == (True, False)


def test_job_of_a_newer_version_is_returned_to_pinlater_without_counting_an_attempt():
    task = Newer()
    task.request.properties[ATTEMPT_PROPERTY] = 1

    with pytest.raises(RunLater) as caught:
        return_message(task, str(NEWER), RETURN_DELAY_S)

    assert (task.sent, caught.value.counts) == ([], False)
    assert caught.value.delay_s >= RETURN_DELAY_S / 2


@pytest.mark.parametrize("name", ["fetch", "canonicalize", "store"])
def test_module_of_a_task_can_be_called_like_the_task(name):
    module = importlib.import_module(f"aragog.tasks.{name}")
    task = getattr(module, name)

    signature = module.s("http://a.test/")

    assert (signature.task, signature.args) == (task.name, ("http://a.test/",))
    assert (module.delay, module.apply_async) == (task.delay, task.apply_async)
    with pytest.raises(AttributeError, match="has no attribute 'dealy'"):
        module.dealy  # noqa: B018
