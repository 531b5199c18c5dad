"""Lines of files that anybody may have written."""

import io

from aragog.transfer.lines import text_lines

MARK = "\ufeff"


def test_a_byte_order_mark_is_not_a_part_of_the_first_line():
    """Editors and spreadsheets write one; the first line of an import was refused."""
    lines = list(text_lines(io.BytesIO(f"{MARK}one\n{MARK}two\n".encode()), 100))

    assert [line.text for line in lines] == ["one\n", f"{MARK}two\n"]
