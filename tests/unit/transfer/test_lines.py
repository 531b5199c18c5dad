"""Lines of files from any source."""

import io

from aragog.transfer.lines import text_lines

MARK = "\ufeff"


def test_byte_order_mark_is_not_part_of_the_first_line():
    """Regression: editors and spreadsheets write one, and the first line of an import was refused."""
    lines = list(text_lines(io.BytesIO(f"{MARK}one\n{MARK}two\n".encode()), 100))

    assert [line.text for line in lines] == ["one\n", f"{MARK}two\n"]
