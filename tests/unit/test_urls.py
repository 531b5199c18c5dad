"""The old name of the library for URLs still works, and says what the new one is."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "code",
    [
        "from aragog.urls import InvalidUrl, normalize, url_key; normalize('http://a.test')",
        "from aragog.urls.canonical import Evidence, decide",
        "from aragog.urls.domain import registered_domain; registered_domain('a.test')",
    ],
)
def test_the_old_name_works_and_warns(code):
    quiet = [sys.executable, "-c", code]
    strict = [sys.executable, "-W", "error::DeprecationWarning", "-c", code]

    done = subprocess.run(quiet, capture_output=True, text=True, check=False)
    refused = subprocess.run(strict, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "is the library urlspelling now" in refused.stderr
