"""A bounded slice of the fuzz run."""

from tests.fuzz.fuzz_pages import mutations, one_input
from tests.support.forked import python

WITHIN_LIMITS = """
import sys
from aragog.stages.page_limits import PageTooExpensive, limited, make_expendable
from tests.fuzz.fuzz_pages import grown, one_input
make_expendable()
for page in grown(int(sys.argv[1]), int(sys.argv[2])):
    print(page[:200], flush=True)
    with limited(5.0, 300_000_000):
        one_input(page)
"""


def test_mutated_pages_are_read():
    results = [one_input(data) for data in mutations(seed=7, count=300)]

    assert sum(page.title is not None for page in results) > 30


def test_pages_that_repeat_a_few_tags_stay_within_a_bound_of_time_and_memory():
    run = python(WITHIN_LIMITS, "7", "12")

    assert run.returncode == 0, (run.stdout.splitlines()[-1:], run.stderr[-2000:])
