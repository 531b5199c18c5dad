"""The command `aragog enqueue`, which takes constant memory."""

from __future__ import annotations

import contextlib
import os
import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from aragog.api.json_values import to_json
from aragog.api.operations.values import BUILT_IN
from aragog.cli.arguments import as_json_lines, enqueue_options
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import BAD_LINES, UNUSABLE
from aragog.cli.terminal import SafeConsole, echo, echo_json, note
from aragog.client import Aragog
from aragog.crawl.fetcher.user_agent import check_user_agent, has_contact
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import CONFIG, BadInput, ConfigError, InvalidUrl, SlowDown
from aragog.settings import Settings
from aragog.standalone.demo import is_demo
from urlspelling import normalize

# Browsers limit URLs to 2 MB, and servers to 8 to 64 KB.
MAX_LINE_BYTES = 65_536
MAX_SHOWN_CHARS = 200
# Prepended to make a string an invalid URL.
INVALID_PREFIX = "\N{REPLACEMENT CHARACTER}"


@click.command()
@click.argument("source", nargs=-1, required=True)
@enqueue_options()
@as_json_lines
def enqueue(source: tuple[str, ...], *, as_json: bool, **arguments: Any) -> None:
    """
    Enqueue URLs: each SOURCE is a URL, a file with one per line, or `-` for standard input.

    Invalid lines are reported with their number; the others are enqueued. The exit status is then
    4; it is 2 if there was nothing to enqueue.
    """
    console = SafeConsole(stderr=True)
    counts: Counter[EnqueueStatus] = Counter()
    settings = command_settings()
    with Aragog(settings) as client, _progress_bar(console) as progress:
        lines = LineReader(source, progress)
        results = client.enqueue_all(
            require_contact(lines, settings), on_wait=_wait_reporter(), **arguments
        )
        try:
            for result, line_source in zip(results, lines.line_sources(), strict=False):
                counts[result.status] += 1
                if as_json:
                    shown_result = replace(result, input=result.input.removeprefix(INVALID_PREFIX))
                    echo_json(to_json(shown_result, BUILT_IN))
                if result.status not in (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING):
                    _report(progress, result, line_source)
        finally:  # even after Ctrl-C or if the broker is lost, show how many were enqueued
            progress.stop()
            if counts or sys.exception() is None:
                echo(summary(counts), err=True) if as_json else note(summary(counts))
    if not counts:
        sys.exit(UNUSABLE)
    if counts[EnqueueStatus.INVALID]:
        sys.exit(BAD_LINES)


def summary(counts: Mapping[EnqueueStatus, int]) -> str:
    """Format the number of URLs with each status. Rare statuses are omitted if their count is 0."""
    always_shown = (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING, EnqueueStatus.INVALID)
    statuses = [status for status in EnqueueStatus if status in always_shown or counts.get(status)]
    return ", ".join(f"{counts.get(status, 0)} {status.value}" for status in statuses)


def _wait_reporter() -> Callable[[SlowDown], None]:
    reported = False

    def on_wait(refusal: SlowDown) -> None:
        nonlocal reported
        if not reported:
            echo(f"waiting: {refusal}", err=True)
        reported = True

    return on_wait


def require_contact(urls: Iterable[str], settings: Settings) -> Iterator[str]:
    """
    Yield the lines unchanged. Invalid URLs are not rejected here, because they are reported later.

    Raises:
        ConfigError: the settings lack a contact, which fetching this URL requires.
    """
    if has_contact(settings.fetch):
        yield from urls
        return
    for url in urls:
        with contextlib.suppress(InvalidUrl):
            _check_contact(settings, normalize(url))
        yield url


def _check_contact(settings: Settings, url: str) -> None:
    try:
        check_user_agent(settings.fetch, url)
    except CONFIG as error:
        if not is_demo(settings):
            raise
        raise ConfigError(
            f"{url}: the demo is running in {settings.data_dir} and only fetches its own sites; "
            "stop it with Ctrl-C or `aragog down`, set fetch.user_agent, and run `aragog run FILE`"
        ) from error


class LineSource(NamedTuple):
    """The source of a line."""

    source: str
    number: int
    """The line's number, from 1; 0 for an argument."""
    reason: str | None = None
    """Why the line cannot be a URL, or None."""

    def __str__(self) -> str:
        return f"{self.source}:{self.number}: " if self.number else ""


def result_line(result: EnqueueResult, line_source: LineSource) -> str:
    """Return the message about a line of input that was not enqueued."""
    input_text = repr(result.input.removeprefix(INVALID_PREFIX)[:MAX_SHOWN_CHARS])[:MAX_SHOWN_CHARS]
    return f"{line_source}{line_source.reason or result.reason}: {input_text}"


def _report(progress: Progress, result: EnqueueResult, line_source: LineSource) -> None:
    line = result_line(result, line_source)
    if progress.disable:
        echo(line, err=True)
    else:
        progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


class LineReader:
    """
    Yields the lines of all sources. `line_sources` yields the source of each line, in the same
    order.

    Blank lines and lines that start with `#` are skipped. Lines longer than 64 KiB are truncated
    and count as invalid, so endless input cannot fill the memory.

    Raises:
        BadInput: a source is neither a URL nor a readable file. Nothing was read.
    """

    def __init__(self, sources: Sequence[str], progress: Progress) -> None:
        self._sources = sources
        self._progress = progress
        self._line_sources: list[LineSource] = []
        problems = [problem for source in sources if (problem := _find_source_problem(source))]
        if problems:
            raise BadInput("\n".join(problems))

    def line_sources(self) -> Iterator[LineSource]:
        """Yield each line's source, in order. Take a source only after its line's result."""
        index = 0
        while True:
            if index == len(self._line_sources):
                return
            yield self._line_sources[index]
            index += 1
            if index >= 5000:  # otherwise, the sources of reported lines would fill the memory
                del self._line_sources[:index]
                index = 0

    def __iter__(self) -> Iterator[str]:
        for source in self._sources:
            if source == "-":
                yield from self._read(sys.stdin.buffer, "-", None)
            elif "://" in source:
                self._line_sources.append(LineSource(source, 0))
                yield source
            else:
                yield from self._read_file(Path(source))

    def _read_file(self, path: Path) -> Iterator[str]:
        try:
            with path.open("rb") as file:
                size = path.stat().st_size if path.is_file() else None
                yield from self._read(file, str(path), size)
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror}") from error

    def _read(self, file: IO[bytes], name: str, size: int | None) -> Iterator[str]:
        task = self._progress.add_task(name, total=size)
        bytes_to_report = 0
        for number, raw in enumerate(_read_raw_lines(file), 1):
            bytes_to_report += len(raw)
            if bytes_to_report > 65_536:
                self._progress.advance(task, bytes_to_report)
                bytes_to_report = 0
            line = raw.removeprefix(BOM_UTF8).strip() if number == 1 else raw.strip()
            if line and not line.startswith(b"#"):
                text, reason = _decode_line(line)
                self._line_sources.append(LineSource(name, number, reason))
                yield text
        self._progress.advance(task, bytes_to_report)


def _find_source_problem(source: str) -> str | None:
    path = Path(source)
    if not source.strip():
        return "a SOURCE is empty; pass a URL, a file, or - for standard input"
    if source == "-" or "://" in source:
        return None
    if "\0" in source or not os.access(path, os.F_OK):
        return f"{source} is neither a file nor a URL (URLs start with http:// or https://)"
    if path.is_dir():
        return f"{source} is a folder; pass a file with one URL per line"
    return None if os.access(path, os.R_OK) else f"{source} cannot be read; check its permissions"


def _read_raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES):
        yield line
        while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)


def _decode_line(line: bytes) -> tuple[str, str | None]:
    """
    Return the line as a string, and the reason why it cannot be a URL, or None.

    If there is a reason, the string is not a valid URL. Only UTF-8 is decoded, because guessing
    another encoding could result in a different URL.
    """
    if len(line) >= MAX_LINE_BYTES - 2:
        return INVALID_PREFIX + line[:MAX_SHOWN_CHARS].decode("latin-1"), "longer than 64 KiB"
    if b"\0" in line:
        return INVALID_PREFIX + line.decode("latin-1"), "contains a NUL byte"
    try:
        return line.decode(), None
    except UnicodeDecodeError:
        return INVALID_PREFIX + line.decode("latin-1"), "is not UTF-8"


def _progress_bar(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    return Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=console.quiet or not console.is_terminal,
    )
