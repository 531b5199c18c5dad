"""The page type of a video."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from richpins.page_types import PageType
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import dates, durations, numbers
from richpins.values.dates import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A video and the URLs of its players."""

    duration_s: int | None = None
    duration_minutes: int | None = None
    uploaded_at: Moment | None = None
    content_url: str | None = None
    """The URL of the video file."""
    embed_url: str | None = None
    """The URL of a page with a player."""
    width: int | None = None
    height: int | None = None
    views: int | None = None


TYPES = frozenset({"videoobject", "videoobjectsnapshot", "clip"})


def read(sources: Sources, nodes: list[Node]) -> Video:
    """Return the video that `nodes`, Open Graph or a Twitter player card describe."""
    pick = sources.ledger.pick

    def pick_url(name: str, properties: tuple[str, ...], tags: tuple[str, ...]) -> str | None:
        def candidates() -> Iterator[Candidate]:
            yield from sources.scalars(nodes, *properties)
            yield from sources.meta(*tags)

        return pick(
            f"video.{name}", lambda raw: _absolute_url(sources, raw), candidates(), expected="a URL"
        )

    def pick_dimension(name: str) -> int | None:
        def candidates() -> Iterator[Candidate]:
            yield from sources.scalars(nodes, name)
            yield from sources.meta(f"og:video:{name}", f"twitter:player:{name}")

        return pick(f"video.{name}", numbers.count, candidates(), expected="pixels")

    def duration_candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "duration")
        yield from sources.meta("video:duration", "og:video:duration")

    duration_s = pick(
        "video.duration_s", _parse_seconds, duration_candidates(), expected="a duration"
    )
    return Video(
        duration_s=duration_s,
        duration_minutes=round(duration_s / 60) if duration_s else None,
        uploaded_at=pick(
            "video.uploaded_at",
            partial(dates.moment, language=sources.document.language),
            sources.scalars(nodes, "uploaddate", "datepublished"),
            expected="a date",
        ),
        content_url=pick_url("content_url", ("contenturl",), ("twitter:player:stream",)),
        embed_url=pick_url(
            "embed_url",
            ("embedurl",),
            ("og:video:secure_url", "og:video:url", "og:video", "twitter:player"),
        ),
        width=pick_dimension("width"),
        height=pick_dimension("height"),
        views=pick(
            "video.views", numbers.count, _view_candidates(sources, nodes), expected="a count"
        ),
    )


def _parse_seconds(value: Any) -> int | None:
    seconds = durations.seconds(value)
    return int(seconds) if seconds is not None and seconds < _MAX_SECONDS else None


_MAX_SECONDS = 10_000_000


def _absolute_url(sources: Sources, raw: Any) -> str | None:
    return sources.absolute(raw) if isinstance(raw, str) and raw.strip() else None


def _view_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    yield from sources.scalars(nodes, "interactioncount")
    for node in nodes:
        for counter in node.all("interactionstatistic"):
            if isinstance(counter, Node):
                interaction = counter.first("interactiontype")
                type_names = (
                    interaction.types if isinstance(interaction, Node) else (str(interaction),)
                )
                if not type_names or any("watch" in name.lower() for name in type_names):
                    yield from sources.scalars([counter], "userinteractioncount")


def _declaration_weight(_sources: Sources, og_type: str) -> int:
    return 4 if og_type.startswith("video") else 0


PAGE_TYPE = PageType(
    name="video",
    record=Video,
    schema_types=TYPES,
    weight=45,
    read=read,
    og_types=("video", "video.other", "video.episode"),
    declaration_weight=_declaration_weight,
    yields_to_others=True,
    shared_image_first=True,
)
