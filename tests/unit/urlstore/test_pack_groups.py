"""Which packs are rewritten together, and which records share a new pack."""

from hypothesis import given
from hypothesis import strategies as st

from aragog.urlstore.pack_groups import (
    GROUP_BYTES,
    MIN_RAW_BYTES,
    WAIT_MS,
    FreshPack,
    fresh_groups,
    is_worthwhile,
    parts,
)

MB = 1_048_576


def fresh(name, hosts, size=8 * MB, at_ms=0):
    return FreshPack(name, size, at_ms, hosts)


def test_packs_wait_until_there_are_enough_or_an_hour_has_passed():
    packs = [fresh(str(n), {b"a": 8 * MB}) for n in range(9)]

    assert [len(one) for one in fresh_groups(packs, 0)] == [GROUP_BYTES // (8 * MB)]
    assert [len(one) for one in fresh_groups(packs, WAIT_MS)] == [8, 1]


def test_rewriting_is_worthwhile_for_packs_of_few_hosts():
    few = fresh("few", {bytes([n]): MB for n in range(8)})
    many = fresh("many", {bytes([n]): 100_000 for n in range(32)})

    assert [is_worthwhile(one) for one in fresh_groups([few], WAIT_MS)] == [True]
    assert [is_worthwhile(one) for one in fresh_groups([many], WAIT_MS)] == [False]


def test_bytes_of_a_host_are_summed_over_packs():
    packs = [fresh(str(n), {b"a": 100_000}, size=150_000) for n in range(4)]

    assert [is_worthwhile(one) for one in fresh_groups(packs, WAIT_MS)] == [True]


@given(
    st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.integers(1, 3 * MB)),
             max_size=60)
)  # fmt: skip
def test_every_record_is_in_one_part_and_no_part_is_too_large(records):
    numbered = list(enumerate(records))
    made = list(
        parts(
            numbered,
            lambda one: one[1][0],
            lambda one: one[1][1],
            lambda one: 4 * one[1][1],
            8 * MB,
        )
    )

    assert sorted(one for part, _ in made for one in part) == numbered
    for part, has_dictionary in made:
        size = sum(one[1][1] for one in part)
        assert len(part) == 1 or size <= 8 * MB
        if has_dictionary:
            host = part[0][1][0]
            assert {one[1][0] for one in part} == {host}
            assert 4 * sum(size for name, size in records if name == host) >= MIN_RAW_BYTES
