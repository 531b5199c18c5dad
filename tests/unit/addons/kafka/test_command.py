"""The options of `aragog kafka enqueue` reach its function."""

import inspect

from aragog.addons.kafka.command import enqueue


def test_the_limit_of_urls_in_flight_reaches_the_function():
    arguments = ["kafka://broker:9092/urls", "--max-in-flight", "5"]
    context = enqueue.make_context("enqueue", arguments)

    bound = inspect.signature(enqueue.callback).bind(**context.params)

    assert bound.arguments["max_in_flight"] == 5
