"""Ids that are derived from names."""

from hashlib import sha256

import pytest

from zengraph._naming import _SYMBOLS, Naming, _ordered, _symbol_of

NAMES = [b"team/%d/user-%d" % (n % 40, n) for n in range(4000)]


def group_of(name):
    return name.split(b"/")[0]


def part_of(name):
    part, _, rest = name.rpartition(b"/")
    return part, rest


def with_parts(has_parts=True):
    return Naming(group_of, lambda: True, part_of, lambda: has_parts)


def test_parts_are_ignored_in_data_without_them():
    before = Naming(group_of, lambda: True)
    assert [with_parts(False).id_of(name) for name in NAMES] == [before.id_of(n) for n in NAMES]


def test_parts_are_ignored_if_groups_are_not_together():
    naming = Naming(group_of, lambda: False, part_of, lambda: True)
    assert naming.id_of(NAMES[0]) == sha256(NAMES[0]).digest()[:16]


def test_id_has_the_group_then_the_part_then_the_characters_then_the_hash():
    naming, digest = with_parts(), sha256(b"team/7/ABC-7").digest()
    key, part = naming.id_of(b"team/7/ABC-7"), sha256(b"team/7").digest()
    assert key[1:4] == sha256(b"team").digest()[1:4]
    assert key[0] & 0xF0 == sha256(b"team").digest()[0] & 0xF0
    assert key[0] & 0x0F == (part[0] + 4 * (digest[0] & 3)) & 0x0F
    assert key[4:5] == part[1:2]
    assert key[5:7] == ((13 * 40 + 14) * 40 + 15).to_bytes(2)
    assert key[7:] == digest[7:16]


def test_list_ids_do_not_depend_on_parts():
    before = Naming(group_of)
    assert [with_parts().list_id(name) for name in NAMES] == [before.list_id(n) for n in NAMES]
    assert with_parts().by_group({NAMES[0]: b"x"}) == before.by_group({NAMES[0]: b"x"})


def test_ids_of_all_names_differ():
    naming = with_parts()
    assert len({naming.id_of(name) for name in NAMES}) == len(NAMES)


def test_symbols_are_in_the_order_of_bytes_regardless_of_case():
    symbols = [_symbol_of(byte) for byte in range(256) if not chr(byte).isupper() or byte > 127]
    assert symbols == sorted(symbols)
    assert {*symbols} == set(range(1, _SYMBOLS))
    assert all(_symbol_of(ord(c)) == _symbol_of(ord(c.lower())) for c in "AMZ")


@pytest.mark.parametrize("name", [b"", b"a", b"ab", b"abc", b"abcd", "äöü".encode(), b"\xff" * 9])
def test_order_takes_two_bytes(name):
    assert len(_ordered(name[:3])) == 2


def test_names_sort_like_their_first_three_characters():
    names = sorted(
        [b"", b"1", b"10", b"100", b"1000", b"2", b"a", b"ab", b"b-1", b"b1", b"zz", b"~"]
    )
    assert [_ordered(name[:3]) for name in names] == sorted(_ordered(name[:3]) for name in names)


@pytest.mark.parametrize(
    "naming",
    [
        Naming(),
        Naming(group_of, lambda: True),
        with_parts(),
        with_parts(has_parts=False),
        Naming(group_of, lambda: False, part_of, lambda: True),
    ],
)
def test_batch_has_the_ids_of_its_names(naming):
    some = NAMES[:200] + NAMES[:20]
    assert naming.ids_of(some) == [naming.id_of(name) for name in some]
    assert naming.node_ids(["a/b/c", "ä/b", "\udc80"]) == [
        naming.node_id(name) for name in ("a/b/c", "ä/b", "\udc80")
    ]
    assert naming.ids_of([]) == []
