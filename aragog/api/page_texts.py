"""
The main texts of stored pages, for readers: stored ones, and others found when they are read.

The library that finds a text is Python code, and the page may be hostile. It runs in a process of
its own, one page at a time, within the limits of a page (`pipeline.page_max_cpu_s`,
`pipeline.page_max_memory_bytes`). A page that exceeds them ends that process and not the server,
and the server's threads do not wait for each other while a text is found.

A process is started for the first text (0.5 s) and stays; at most `AT_ONCE` run. It ends when its
input does, and so with the process that started it.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

import orjson

from aragog.errors import TransientError, Unsupported
from aragog.pages import main_text
from aragog.pages.main_text import FIELDS, MARKDOWN, VERSION_FIELD, TextFinder, is_html, load
from aragog.settings import PipelineSettings
from aragog.urlstore.records import Content
from aragog.urlstore.store import UrlStore

ORIGINAL = "original"
FORMS = (ORIGINAL, *main_text.FORMS)
AT_ONCE = 2
LONGEST_S = 60.0
"""When a process that does not answer is ended; its limit of CPU time is lower."""
_HEAD_BYTES = 8


class PageTextUnavailable(Unsupported):
    """A page exceeds its limits, so that its text cannot be found."""


class TextsBusy(TransientError):
    """Other texts are being found; the same call may work later."""


class PageTexts:
    """
    Finds main texts. Threads may share it; close it, or let it end with the process.

    Args:
        settings: who finds texts, and the limits of a page.
    """

    def __init__(self, settings: PipelineSettings | None = None) -> None:
        self._settings = settings or PipelineSettings()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._idle: list[_TextProcess] = []
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def content(self, store: UrlStore, url: str, form: str) -> Content | None:
        """
        The main text of a page as content; None if the page has no content, or is not HTML.

        Raises:
            Unsupported: the extra `text` is not installed.
            PageTextUnavailable: the page exceeds its limits.
            TextsBusy: all processes have been busy for long.
            CorruptContent, ContentUnavailable: as `UrlStore.content`.
        """
        finder = load(self._settings.text_finder)
        stored = self._stored(store, url, form, finder)
        if stored is not None:
            return stored
        page = store.content(url)
        if page is None or not is_html(page.meta.get("content_type")):
            return None
        return _content(page.url, self.find(page, form), form, finder, page.facts)

    def fields(self, store: UrlStore, url: str, names: tuple[str, ...]) -> dict[str, bytes]:
        """Make those of `page.text` and `page.markdown` that are in `names`, as stored fields."""
        found = {}
        for form, name in FIELDS.items():
            content = self.content(store, url, form) if name in names else None
            if content is not None and content.body:
                found[name] = orjson.dumps(content.body.decode())
        return found

    def find(self, page: Content, form: str) -> str:
        """The main text of a page's content, found now."""
        header = {
            "url": str(page.facts.get("final_url") or page.meta.get("url") or page.url),
            "content_type": page.meta.get("content_type"),
            "form": form,
        }
        if not self._places.acquire(timeout=LONGEST_S):
            raise TextsBusy("main text", f"{AT_ONCE} others are being found; repeat it later")
        try:
            answer = self._ask(header, page.body)
        finally:
            self._places.release()
        if "error" in answer:
            raise PageTextUnavailable(
                f"the main text of {page.url} cannot be found: {answer['error']}"
            )
        return str(answer["text"])

    def close(self) -> None:
        """End the processes."""
        self._finalizer()

    def _ask(self, header: Mapping[str, Any], body: bytes) -> dict[str, Any]:
        try:
            process = self._idle.pop()
        except IndexError:
            process = _TextProcess(self._settings)
        answer = process.ask(header, body)
        if process.usable:
            self._idle.append(process)
        else:
            process.close()
        return answer

    def _stored(self, store: UrlStore, url: str, form: str, finder: TextFinder) -> Content | None:
        """The text that the page is stored with, if this finder found it."""
        name = FIELDS[form]
        record = store.get(url, [name, VERSION_FIELD])
        if record is None or name not in record.fields or record.content_key is None:
            return None
        if not _text(record.fields.get(VERSION_FIELD, b'""')).startswith(f"{finder.version}: "):
            return None
        return _content(
            record.canonical_url, _text(record.fields[name]), form, finder, record.facts
        )


def _text(value: bytes) -> str:
    try:
        return str(orjson.loads(value))
    except orjson.JSONDecodeError:
        return ""


def _content(
    url: str, text: str, form: str, finder: TextFinder, facts: Mapping[str, Any]
) -> Content:
    kind = "markdown" if form == MARKDOWN else "plain"
    meta = {"content_type": f"text/{kind}; charset=utf-8", "text_version": finder.version}
    return Content(url, text.encode("utf-8", "replace"), meta, dict(facts))


class _TextProcess:
    """A process that finds one text after the other."""

    def __init__(self, settings: PipelineSettings) -> None:
        limits = (settings.page_max_cpu_s, settings.page_max_memory_bytes)
        command = [sys.executable, "-m", __name__, settings.text_finder, *map(str, limits)]
        # Its errors are read from its answers; a library's warnings are not the server's log.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a server that drains after Ctrl-C still answers
        )
        self.usable = True

    def ask(self, header: Mapping[str, Any], body: bytes) -> dict[str, Any]:
        """The text of a page, or why there is none."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe, see above
        try:
            _send(cast("BinaryIO", self._process.stdin), header, body)
            return self._answer()
        except (BrokenPipeError, EOFError):
            self.usable = False
            return {"error": "the page ended the process that read it"}
        except TimeoutError:
            self.usable = False
            return {"error": f"took more than {LONGEST_S:g} s"}

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - a pipe, see above
        source, until_s = self._process.stdout.fileno(), time.monotonic() + LONGEST_S
        size = int.from_bytes(_received(source, _HEAD_BYTES, until_s))
        answer: dict[str, Any] = orjson.loads(_received(source, size, until_s))
        return answer

    def close(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()


def _close_all(processes: list[_TextProcess]) -> None:
    while processes:
        processes.pop().close()


def _send(sink: BinaryIO, header: Mapping[str, Any], body: bytes) -> None:
    head = json.dumps({**header, "body_bytes": len(body)}).encode()
    sink.write(len(head).to_bytes(_HEAD_BYTES) + head + body)
    sink.flush()


def _received(source: int, size: int, until_s: float) -> bytes:
    """So many bytes of a pipe; raises EOFError at its end and TimeoutError at that instant."""
    data, readable = bytearray(), select.poll()  # descriptors of a server may be above 1,024
    readable.register(source, select.POLLIN)
    while len(data) < size:
        left_ms = 1e3 * max(0.0, until_s - time.monotonic())
        if not readable.poll(left_ms):
            raise TimeoutError
        more = os.read(source, min(size - len(data), 1 << 20))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def _serve(finder: str, max_cpu_s: float, max_memory_bytes: int) -> None:
    """Find texts until the input ends."""
    from aragog.stages.page_limits import make_expendable  # noqa: PLC0415 - only in the process

    make_expendable()
    # Whatever a library prints is no answer.
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while head := source.read(_HEAD_BYTES):
        header = json.loads(source.read(int.from_bytes(head)))
        body = source.read(header["body_bytes"])
        try:
            answer = {"text": _found(finder, header, body, max_cpu_s, max_memory_bytes)}
        except MemoryError:
            answer = {"error": f"took more than {max_memory_bytes} bytes of memory"}
        except Exception as error:  # noqa: BLE001 - a page must not end the process
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        reply = orjson.dumps(answer)
        sink.write(len(reply).to_bytes(_HEAD_BYTES) + reply)
        sink.flush()


def _found(
    finder: str, header: Mapping[str, Any], body: bytes, max_cpu_s: float, max_memory_bytes: int
) -> str:
    from aragog.pages import document  # noqa: PLC0415 - parsers, only in the process
    from aragog.stages.page_limits import PageTooExpensive, limited  # noqa: PLC0415

    loaded = load(finder)
    try:
        with limited(max_cpu_s, max_memory_bytes):
            page = document.parse(body, url=header["url"], content_type=header["content_type"])
            return loaded.find(page, header["form"]).encode("utf-8", "replace").decode()
    except PageTooExpensive as error:
        raise ValueError(error.reason) from None


if __name__ == "__main__":
    _serve(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
