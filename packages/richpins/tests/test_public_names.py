"""Public names of the package are available, and are loaded only on first use."""

import pickle
import re
import subprocess
import sys
from importlib import import_module

import pytest

import richpins
from richpins import MissingExtra, RichpinsError


@pytest.mark.parametrize("name", richpins.__all__)
def test_every_public_name_is_available(name):
    assert getattr(richpins, name) is not None
    assert name in dir(richpins)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = richpins.nothing_such


def test_documented_public_modules_can_be_imported():
    listed = re.split(r"\n\n", richpins.__doc__.partition("part of a page or store")[2])[1]
    names = re.findall(r"`([a-z_]+)`", listed)

    assert {"document", "encodings", "text_sketch"} <= set(names)
    assert all(import_module(f"richpins.{name}") for name in names)


def modules_loaded_by(code):
    parsers = ("ada_url", "chardet", "lxml", "orjson", "selectolax", "trafilatura")
    shown = f"{code}\nimport sys; print(*[n for n in {parsers!r} if n in sys.modules])"
    return subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.parametrize(
    "code", ["import richpins.errors", "import richpins.main_text", "import richpins.page_types"]
)
def test_importing_names_loads_no_parser(code):
    assert modules_loaded_by(code) == []


def test_reading_a_page_without_its_text_does_not_load_lxml():
    code = "import richpins; richpins.read(b'<h1>a</h1>', url='http://a.test/').pin"

    assert {"lxml", "trafilatura"}.isdisjoint(modules_loaded_by(code))


def test_missing_extra_error_shows_the_install_command():
    error = MissingExtra("text", "trafilatura")

    again = pickle.loads(pickle.dumps(error))

    assert str(again) == "trafilatura is not installed: pip install 'richpins[text]'"
    assert isinstance(again, RichpinsError)
    assert isinstance(again, ImportError)
