"""Public names of the package are available, and are loaded only on first use."""

import subprocess
import sys

import pytest

import urlspelling


@pytest.mark.parametrize("name", urlspelling.__all__)
def test_every_public_name_is_available(name):
    assert getattr(urlspelling, name) is not None
    assert name in dir(urlspelling)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = urlspelling.nothing_such


def test_importing_the_errors_loads_no_parser():
    code = "import sys, urlspelling.errors; print([n for n in ('ada_url', 'can_ada') if n in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
