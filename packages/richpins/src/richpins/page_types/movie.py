"""The page type of a movie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from richpins.page_types import PageType
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import dates, durations, scalars
from richpins.values.dates import AnyDate
from richpins.values.ratings import Rating, read_rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Movie:
    """A movie or series."""

    directors: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    duration_minutes: int | None = None
    released_at: AnyDate | None = None
    content_rating: str | None = None
    trailer_url: str | None = None
    rating: Rating | None = None


TYPES = frozenset({"movie", "movieseries", "tvseries", "tvepisode", "tvseason", "movieclip"})


def read(sources: Sources, nodes: list[Node]) -> Movie:
    """Return the movie that `nodes` or Open Graph's video tags describe."""
    pick = sources.ledger.pick

    def pick_people(name: str, tag: str, *properties: str) -> tuple[str, ...]:
        def candidates() -> Iterator[Candidate]:
            yield from sources.lists(nodes, *properties)
            metas = list(sources.meta(tag))
            if metas:
                yield metas[0]._replace(value=[meta.value for meta in metas])

        return pick(f"movie.{name}", scalars.names, candidates(), expected="names") or ()

    def release_dates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "datepublished", "datecreated", "startdate")
        for event in (
            event for node in nodes for event in node.all("releasedevent", "firstperformance")
        ):
            if isinstance(event, Node):
                yield from sources.scalars([event], "startdate")
        yield from sources.meta("video:release_date", "og:video:release_date")

    def duration_candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "duration", "timerequired")
        for meta in sources.meta("video:duration"):
            yield meta._replace(value=f"{meta.value} s")

    return Movie(
        directors=pick_people("directors", "video:director", "director", "directors"),
        actors=pick_people("actors", "video:actor", "actor", "actors", "starring"),
        genres=pick("movie.genres", scalars.words, sources.lists(nodes, "genre")) or (),
        duration_minutes=pick(
            "movie.duration_minutes",
            durations.minutes,
            duration_candidates(),
            expected="a duration",
        ),
        released_at=dates.pick(
            sources.ledger, "movie.released_at", release_dates(), language=sources.document.language
        ),
        content_rating=pick(
            "movie.content_rating", scalars.text, sources.scalars(nodes, "contentrating")
        ),
        trailer_url=pick(
            "movie.trailer_url",
            lambda raw: _video_url(sources, raw),
            sources.scalars(nodes, "trailer"),
            expected="a URL",
        ),
        rating=read_rating(sources, "movie.rating", nodes),
    )


def _video_url(sources: Sources, raw: object) -> str | None:
    if isinstance(raw, Node):
        raw = raw.first("url", "contenturl", "embedurl") or raw.id
    return sources.absolute(raw) if isinstance(raw, str) else None


PAGE_TYPE = PageType(
    name="movie",
    record=Movie,
    schema_types=TYPES,
    weight=75,
    read=read,
    og_types=("video.movie", "movie"),
)
