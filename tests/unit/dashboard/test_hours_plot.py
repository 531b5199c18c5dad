"""Plots of outcomes by hour."""

import re
from collections import Counter

from aragog.dashboard.hours_plot import OTHER_COLOR, STORED_COLOR, hours_plot


def test_plot_shows_its_time_range_and_the_meaning_of_its_colors():
    plot = hours_plot({480_000: Counter(stored=3, cancelled=1)}).svg()

    assert [*re.findall(r"<text[^>]*>([^<]*)<", plot)] == [
        "2024-10-04 00:00:00 UTC",
        "2024-10-04 01:00:00 UTC",
        "stored",
        "other outcomes",
    ]
    assert plot.count(f'fill="{STORED_COLOR}"') == plot.count(f'fill="{OTHER_COLOR}"') == 2
