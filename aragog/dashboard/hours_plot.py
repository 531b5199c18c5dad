"""A plot of a crawl's outcomes per hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

from aragog.observability.formatting import format_time

HOUR_MS = 3_600_000
WIDTH, HEIGHT = 720, 160
STORED_COLOR, OTHER_COLOR = "#2a6fb0", "#b0512a"


class PlotBar(NamedTuple):
    """A rectangle in a plot, with its title as a tooltip."""

    x: str
    y: str
    width: str
    height: str
    color: str
    title: str

    def svg(self) -> str:
        attributes = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
        return f'<rect fill="{self.color}" {attributes}><title>{escape(self.title)}</title></rect>'


class PlotLabel(NamedTuple):
    """A label below a plot. `anchor` determines which end of the text is at `x`."""

    x: str
    text: str
    anchor: str
    y: int = HEIGHT + 15

    def svg(self) -> str:
        attributes = f'x="{self.x}" y="{self.y}" text-anchor="{self.anchor}"'
        return f'<text {attributes} fill="currentColor" font-size="11">{escape(self.text)}</text>'


class HoursPlot(NamedTuple):
    """One bar per hour: stored pages at the bottom, all other outcomes on top."""

    bars: tuple[PlotBar, ...]
    labels: tuple[PlotLabel, ...]
    summary: str
    """A description for screen readers."""
    box: str = f"0 0 {WIDTH} {HEIGHT + 20}"

    def svg(self) -> str:
        bars = "".join(plot_bar.svg() for plot_bar in self.bars)
        labels = "".join(label.svg() for label in self.labels)
        label = f'role="img" aria-label="{escape(self.summary)}"'
        return f'<svg viewBox="{self.box}" {label}>{bars}{labels}</svg>'


def plot_bar(x: float, y: float, width: float, height: float, color: str, title: str) -> PlotBar:
    """Return a bar, with a gap before the next one."""
    return PlotBar(
        f"{x:.1f}", f"{y:.1f}", f"{max(width - 1, 0.5):.1f}", f"{height:.1f}", color, title
    )


def hours_plot(hours: Mapping[int, Counter[str]]) -> HoursPlot:
    """Return a plot of the outcomes by hour since 1970. `hours` must not be empty."""
    first, last = min(hours), max(hours)
    max_count = max(counts.total() for counts in hours.values())
    bars = (*_bars(hours, first, WIDTH / (last - first + 1), max_count), *_legend_bars())
    labels = (
        PlotLabel("0", format_time(first * HOUR_MS), "start"),
        PlotLabel(str(WIDTH), format_time((last + 1) * HOUR_MS), "end"),
        *(PlotLabel(f"{x_position + 12:.0f}", name, "start") for x_position, _, name in _LEGEND),
    )
    return HoursPlot(bars, labels, f"URLs per hour, at most {max_count}")


def _bars(
    hours: Mapping[int, Counter[str]], first: int, width: float, max_count: int
) -> Iterator[PlotBar]:
    for hour, counts in hours.items():
        x_position, stored = (hour - first) * width, counts["stored"]
        stored_height, total_height = (
            HEIGHT * stored / max_count,
            HEIGHT * counts.total() / max_count,
        )
        title = f"{format_time(hour * HOUR_MS)}: {stored} stored, {counts.total() - stored} other"
        yield plot_bar(
            x_position, HEIGHT - stored_height, width, stored_height, STORED_COLOR, title
        )
        yield plot_bar(
            x_position,
            HEIGHT - total_height,
            width,
            total_height - stored_height,
            OTHER_COLOR,
            title,
        )


_LEGEND = (
    (WIDTH / 2 - 80, STORED_COLOR, "stored"),
    (WIDTH / 2, OTHER_COLOR, "other outcomes"),
)


def _legend_bars() -> Iterator[PlotBar]:
    for x_position, color, name in _LEGEND:
        yield plot_bar(x_position, HEIGHT + 7, 9, 8, color, name)
