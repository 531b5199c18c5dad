"""The names of a node's cells: whoever reads all that begin with one must not get another's."""

from aragog.urlstore import nodes


def test_no_two_kinds_of_cells_have_one_name_or_beginning():
    """Records in packs and crawls both began with s:in:, and upkeep failed on every page."""
    names = {
        name: value
        for name, value in vars(nodes).items()
        if isinstance(value, bytes) and name.isupper() and not name.startswith("_")
    }
    shared = [
        (one, other)
        for one, value in names.items()
        for other, longer in names.items()
        if one != other and (value == longer or (value.endswith(b":") and longer.startswith(value)))
    ]

    assert len(names) > 30
    assert shared == []
