"""The example in docs/store.md prints what it says."""

import contextlib
import io
import re
from pathlib import Path


def test_the_example_of_the_store_page_prints_what_it_says():
    text = (Path(__file__).parents[3] / "docs" / "store.md").read_text("utf-8")
    code, printed = re.search(
        r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, re.DOTALL
    ).groups()
    out = io.StringIO()

    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/store.md", "exec"), {})

    assert out.getvalue() == printed
