"""The age of a field value and its description."""

import pytest

from aragog.urlstore.field_age import age_text, true_at_ms
from aragog.urlstore.records import FieldInfo

HOUR_MS = 3_600_000
NOW_MS = 100 * HOUR_MS
WRITTEN = FieldInfo(NOW_MS - 5 * HOUR_MS, "json-ld #1")


@pytest.mark.parametrize(
    ("name", "info", "confirmed_at_ms", "text"),
    [
        ("product.price", WRITTEN, NOW_MS - HOUR_MS, "from json-ld #1, confirmed 1 h ago"),
        ("product.price", WRITTEN, NOW_MS - 9 * HOUR_MS, "from json-ld #1, written 5 h ago"),
        ("product.price", WRITTEN, WRITTEN.at_ms, "from json-ld #1, confirmed 5 h ago"),
        ("product.price", WRITTEN, None, "from json-ld #1, written 5 h ago"),
        ("product.price", None, NOW_MS - HOUR_MS, "confirmed 1 h ago"),
        ("own.rank", FieldInfo(NOW_MS - HOUR_MS), NOW_MS, "confirmed 0 ms ago"),
        ("team.score", FieldInfo(NOW_MS - HOUR_MS), NOW_MS, "written 1 h ago"),
        ("team.score", FieldInfo(NOW_MS + HOUR_MS), NOW_MS, "written 0 ms ago"),
        ("team.score", None, NOW_MS, ""),
    ],
)
def test_fetch_confirms_only_extracted_values(name, info, confirmed_at_ms, text):
    assert age_text(name, info, confirmed_at_ms, NOW_MS, ("own",)) == text


def test_unknown_value_has_no_age():
    assert true_at_ms("product.price", None, None) is None
