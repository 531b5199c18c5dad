"""The example in docs/store.md prints what it says."""

import contextlib
import io

from tests.support.documented import blocks


def test_the_example_of_the_store_page_prints_what_it_says():
    (code,), (printed,) = blocks("docs/store.md", "python"), blocks("docs/store.md", "text")
    out = io.StringIO()

    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/store.md", "exec"), {})

    assert out.getvalue() == printed
