"""
Provide the main text of stored pages. If the text is not stored with the page, it is extracted when
a caller wants it. `text_processes` extracts texts in other processes, so that the threads that read
and write the store are not delayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from aragog.api.operations.steps import Steps, Wait, run_steps
from aragog.api.operations.text_processes import (
    DEADLINE_S,
    MAX_WAITING,
    SLOW_SITE_S,
    PageTextUnavailable,
    TextProcesses,
    TextsBusy,
)
from aragog.pages.main_text import FIELDS, VERSION_FIELD, TextFinder, load
from aragog.settings import PipelineSettings
from aragog.urlstore.records import Content
from aragog.urlstore.store import UrlStore
from richpins.main_text import FORMS as TEXT_FORMS
from richpins.main_text import MARKDOWN

ORIGINAL = "original"
FORMS = (ORIGINAL, *TEXT_FORMS)
_GRACE_S = 5.0
"""How long a caller waits after the extraction's deadline."""


class PageTexts:
    """
    Provides the main text of pages. Thread-safe. Close it, or let it end with the process.

    Args:
        settings: the text finder and the limits for each page.
        deadline_s: time limit for extracting a page's text, from the request on.
        max_waiting: how many pages may wait for a process.
        slow_site_s: a site whose pages took more than this in the last minute may not use the last
            available process.
    """

    def __init__(
        self,
        settings: PipelineSettings | None = None,
        *,
        deadline_s: float = DEADLINE_S,
        max_waiting: int = MAX_WAITING,
        slow_site_s: float = SLOW_SITE_S,
    ) -> None:
        self._settings = settings or PipelineSettings()
        self._deadline_s = deadline_s
        self._processes = TextProcesses(self._settings, deadline_s, max_waiting, slow_site_s)

    def content(self, store: UrlStore, url: str, form: str) -> Content | None:
        """Like `steps`, but runs in this thread."""
        return run_steps(self.steps(store, url, form))

    def steps(self, store: UrlStore, url: str, form: str) -> Steps[Content | None]:
        """
        Return a page's main text as content, or None if the page is not HTML, PDF or plain text.

        This is a waiting call, which occupies a thread only while it reads the store.

        Raises:
            Unsupported: the extra `text` is not installed.
            PageTextUnavailable: the page exceeds its limits.
            TextsBusy: too many other pages are being processed.
            CorruptContent, ContentUnavailable: see `UrlStore.content`.
        """
        finder = load(self._settings.text_finder)
        stored = self._stored_text(store, url, form, finder)
        if stored is not None:
            return stored
        from richpins.documents import is_read  # noqa: PLC0415 - it imports the parsers

        page = store.content(url)
        if page is None or not is_read(page.meta.get("content_type")):
            return None
        text = yield from self._extract_steps(page, form)
        return _to_content(page.url, text, form, finder, page.facts)

    def fields(self, store: UrlStore, url: str, names: tuple[str, ...]) -> dict[str, bytes]:
        """Return `page.text` and `page.markdown`, as stored fields, if they are in `names`."""
        values = {}
        for form, name in FIELDS.items():
            content = self.content(store, url, form) if name in names else None
            if content is not None and content.body:
                values[name] = orjson.dumps(content.body.decode())
        return values

    def extract(self, page: Content, form: str) -> str:
        """Return the main text of a page's content. Blocks this thread until it is extracted."""
        return run_steps(self._extract_steps(page, form))

    def _extract_steps(self, page: Content, form: str) -> Steps[str]:
        header = {
            "url": str(page.facts.get("final_url") or page.meta.get("url") or page.url),
            "content_type": page.meta.get("content_type"),
            "form": form,
        }
        try:
            run = self._processes.start(header, page.body)
        except PageTextUnavailable as error:
            raise _unavailable_error(page, str(error)) from None
        try:
            yield Wait(run.done, self._deadline_s + _GRACE_S)
        finally:
            self._processes.end(run)
        if "error" in run.result:
            raise _unavailable_error(page, run.result["error"])
        if "text" not in run.result:
            raise TextsBusy("main text", run.result.get("busy", "the extraction took too long"))
        return str(run.result["text"])

    def close(self) -> None:
        self._processes.close()

    def _stored_text(
        self, store: UrlStore, url: str, form: str, finder: TextFinder
    ) -> Content | None:
        """Return the text stored with the page, if this finder extracted it."""
        name = FIELDS[form]
        record = store.get(url, [name, VERSION_FIELD])
        if record is None or name not in record.fields or record.content_key is None:
            return None
        if not _decode_text(record.fields.get(VERSION_FIELD, b'""')).startswith(
            f"{finder.version}: "
        ):
            return None
        return _to_content(
            record.canonical_url, _decode_text(record.fields[name]), form, finder, record.facts
        )


def _decode_text(value: bytes) -> str:
    try:
        return str(orjson.loads(value))
    except orjson.JSONDecodeError:
        return ""


def _to_content(
    url: str, text: str, form: str, finder: TextFinder, facts: Mapping[str, Any]
) -> Content:
    subtype = "markdown" if form == MARKDOWN else "plain"
    meta = {"content_type": f"text/{subtype}; charset=utf-8", "text_version": finder.version}
    return Content(url, text.encode("utf-8", "replace"), meta, dict(facts))


def _unavailable_error(page: Content, reason: str) -> PageTextUnavailable:
    return PageTextUnavailable(f"the main text of {page.url} cannot be extracted: {reason}")
