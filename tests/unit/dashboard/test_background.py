"""Operations in Flower that may take longer than a browser should wait."""

import asyncio
import logging

from aragog.dashboard.background import finish_within


async def operation(seconds, problem=""):
    await asyncio.sleep(seconds)
    return "done", problem


def test_result_of_a_short_operation_is_returned():
    assert asyncio.run(finish_within(operation(0), 60, "it")) == ("done", "")


def test_slow_operation_continues_and_its_problem_is_logged(caplog):
    async def scenario():
        assert await finish_within(operation(0.2, "the store is gone"), 0.01, "deletion") is None
        assert not caplog.messages
        await asyncio.sleep(0.4)

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())

    assert caplog.messages == ["deletion failed: the store is gone"]
