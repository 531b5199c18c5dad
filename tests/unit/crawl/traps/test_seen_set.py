from zlib import crc32

from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.templates import hash_of


def codes(start, end):
    return [crc32(str(n).encode()) for n in range(start, end)]


def test_added_hashes_are_in_the_set_and_few_others():
    seen = SeenSet(4096)

    seen.add(codes(0, 3000))

    assert all(code in seen for code in codes(0, 3000))
    assert sum(code in seen for code in codes(10_000, 12_000)) < 200


def test_oldest_hashes_are_forgotten_and_the_size_stays():
    seen = SeenSet(512)

    seen.add(codes(0, 5000))

    assert len(seen.young) == len(seen.old) == 512
    assert codes(4990, 5000)[0] in seen
    assert sum(code in seen for code in codes(0, 1000)) < 500


def test_false_positives_are_rare():
    seen = SeenSet(8_192)
    seen.add(hash_of(f"http://a.example/{n}") for n in range(4_000))

    wrong = sum(hash_of(f"http://b.example/{n}") in seen for n in range(10_000))

    assert wrong < 200
