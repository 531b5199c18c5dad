"""Operations in Flower that may take longer than a browser should wait."""

import asyncio
import logging

from aragog.dashboard.background import finish_within


def test_result_of_a_short_operation_is_returned():
    async def short():
        return "done", ""

    assert asyncio.run(finish_within(short(), 60, "it")) == ("done", "")


def test_slow_operation_continues_and_its_problem_is_logged(caplog):
    async def scenario():
        is_gone, has_ended = asyncio.Event(), asyncio.Event()

        async def slow():
            await is_gone.wait()
            has_ended.set()
            return None, "the store is gone"

        assert await finish_within(slow(), 0.01, "deletion") is None
        assert not caplog.messages
        is_gone.set()
        await has_ended.wait()

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())

    assert caplog.messages == ["deletion failed: the store is gone"]
