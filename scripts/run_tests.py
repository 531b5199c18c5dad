"""
Run pytest with the given options, then run the failed tests once more, one at a time.

Several hundred tests start servers, kill processes and wait for the consequences, eight at once. If
one of eight thousand fails there and passes alone, it is flaky. That is a defect to fix, but does
not mean that everything else is broken. Both runs are shown, flaky tests are named, and the exit
code is that of the second run. With more than MAX_RERUNS failures, or when pytest itself could
not run (its exit code is not 1), the first result is final.
"""

import json
import subprocess
import sys
from pathlib import Path

MAX_RERUNS = 5
TESTS_FAILED = 1  # pytest's exit code
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(options: list[str]) -> int:
    """Run the tests, then those that failed. Returns the final exit code."""
    LAST_FAILED.unlink(missing_ok=True)
    status = pytest(options)
    failed = last_failed()
    if status != TESTS_FAILED or not 0 < len(failed) <= MAX_RERUNS:
        return status
    print(f"\n{len(failed)} failed; running them again, one at a time:\n", flush=True)
    status = pytest(["-n", "0", *failed])
    for test in sorted(set(failed) - set(last_failed())):
        print(f"flaky, please fix: {test}", flush=True)
    return status


def pytest(options: list[str]) -> int:
    """Run pytest in a separate process with the same output."""
    return subprocess.run([sys.executable, "-m", "pytest", *options], check=False).returncode


def last_failed() -> list[str]:
    """Return the ids of the tests that failed last, as recorded by pytest."""
    return list(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
