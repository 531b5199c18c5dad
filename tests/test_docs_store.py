"""The example in docs/store.md prints what it shows."""

import contextlib
import io

from tests.support.documented import blocks


def test_store_page_example_prints_what_it_shows():
    (code,), (printed,) = blocks("docs/store.md", "python"), blocks("docs/store.md", "text")
    out = io.StringIO()

    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/store.md", "exec"), {})

    assert out.getvalue() == printed
