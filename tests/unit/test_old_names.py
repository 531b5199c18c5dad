"""The old names of the libraries still work, and say what the new ones are."""

import subprocess
import sys

import pytest

CODE = {
    "from aragog.urls import InvalidUrl, normalize, url_key; normalize('http://a.test')": "urlspelling",
    "from aragog.urls.canonical import Evidence, decide": "urlspelling",
    "from aragog.urls.domain import registered_domain; registered_domain('a.test')": "urlspelling",
    "from aragog.pages.document import Document; import richpins; assert Document is richpins.Document": (
        "richpins.document"
    ),
    "from aragog.zen.tables.sqlite import SqliteTables; import zengraph.tables.sqlite as new; "
    "assert SqliteTables is new.SqliteTables": "zengraph",
    "from aragog.zen.graph import Zen; from aragog.zen.edges import LINK; assert LINK == 0": "zengraph",
    "from aragog.zen.node_ids import node_id; assert len(node_id('http://a.test/')) == 16": "zengraph",
    "from aragog.testing.cell_table import CellTableContract": "zengraph.testing.cell_table",
    "from aragog.pages import extraction, links, rich_pins; rich_pins.to_fields": "richpins.extraction",
}


@pytest.mark.parametrize("code", CODE)
def test_an_old_name_works_and_warns(code):
    quiet = [sys.executable, "-c", code]
    strict = [sys.executable, "-W", "error::DeprecationWarning", "-c", code]

    done = subprocess.run(quiet, capture_output=True, text=True, check=False)
    refused = subprocess.run(strict, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert f"{CODE[code]} now" in refused.stderr.replace("is the library ", "")


def test_a_module_that_never_was_is_still_missing():
    code = "import aragog.pages.no_such_module"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "ModuleNotFoundError" in done.stderr
