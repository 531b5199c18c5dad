"""The kernel limits the CPU time and the memory of each page analysis."""

import signal

from tests.support.forked import python

START = """
from aragog.crawl.stages.page_limits import PageTooExpensive, limit_resources, make_expendable
make_expendable()
"""


def run(code):
    return python(START + code)


def test_slow_python_code_is_interrupted_and_the_process_continues():
    done = run("""
try:
    with limit_resources(0.05, 10**9):
        while True:
            pass
except PageTooExpensive as error:
    print(error.reason)
with limit_resources(5, 10**9):
    print("next page")
""")

    assert done.stdout.splitlines() == ["took more than 0.05 s of CPU time", "next page"]


def test_limit_cannot_be_caught_by_code_that_handles_every_error():
    done = run("""
try:
    with limit_resources(0.05, 10**9):
        while True:
            try:
                sum(range(1000))
            except Exception:
                pass
except PageTooExpensive:
    print("stopped")
""")

    assert done.stdout == "stopped\n"


def test_slow_c_code_is_killed_with_its_process():
    done = run("""
import zlib
with limit_resources(0.02, 10**9):
    zlib.crc32(bytes(500_000_000))
print("never")
""")

    assert done.returncode == -signal.SIGVTALRM
    assert done.stdout == ""


def test_memory_beyond_the_limit_is_refused_and_available_to_the_next_page():
    done = run("""
try:
    with limit_resources(5, 50_000_000):
        bytearray(200_000_000)
except MemoryError:
    print("refused")
print(len(bytearray(200_000_000)))
""")

    assert done.stdout.splitlines() == ["refused", "200000000"]


def test_process_that_is_not_expendable_has_no_limits():
    code = """
from aragog.crawl.stages.page_limits import limit_resources
with limit_resources(0.01, 1):
    print(sum(range(10**7)) > 0)
"""
    assert python(code).stdout == "True\n"
