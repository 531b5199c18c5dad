"""The cell names of a node: reading a prefix must not return cells of another kind."""

from aragog.urlstore import nodes


def test_no_cell_name_is_a_prefix_of_another():
    """Regression: pack records and crawls shared the prefix s:in:, so maintenance always failed."""
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
