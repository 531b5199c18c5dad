"""
Finds pages on the same host that look like a given page, either at the same URL minus one part, or
at a different path. Does no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from aragog.crawl.traps.host_budget import MAX_BANDS, MAX_PAGES, HostBudget
from aragog.crawl.traps.templates import UrlTemplates
from aragog.crawl.traps.traits import SKETCH_BYTES, PageTraits, are_alike

ALIKE_COPY = 0.85
MAX_VERSIONS = 4
"""
At most this many pages with the same text in other sections count as versions of one page, for
example of a page in a manual. Their paths must also have the same number of folders, and the links
to them must have different texts.
"""


@dataclass(slots=True)
class PageCopies:
    """The pages that resemble one page."""

    host: HostBudget
    is_of: UrlTemplates
    traits: PageTraits
    is_repeated: bool = False
    """
    True if a page in another section has the same text, and the two are not versions of each other.
    """
    is_mirror: bool = False
    """
    True if the page is a version of another page, for example of the same page in another manual or
    in the parent package.
    """

    def twins(self, least: float) -> list[str]:
        """Return the parts of the URL that do not affect the page. Records each part's result."""
        found = []
        for part in self.is_of.parts:
            other = self.host.pages.get(part.without)
            if other is None:
                continue
            if are_alike(other[:SKETCH_BYTES], self.traits.sketch, least):
                self.count_twin(part.template)
                found.append(part.template)
            else:
                self.host.record(part.template).differ += 1
        return found

    def count_twin(self, part: str) -> None:
        """Record that a page is the same without this part of its URL."""
        one = self.host.record(part)
        one.twins += 1
        if one.is_meaningless:
            self.host.meaningless.add(part)

    def compare(self) -> None:
        """Find pages with nearly the same text, and count this page as a copy of each."""
        host, own = self.host, self.traits.sketch
        places = {host.bands[band] for band in self.traits.bands if band in host.bands}
        for place in places & host.pages.keys():
            page = host.pages[place]
            if not are_alike(page[:SKETCH_BYTES], own, ALIKE_COPY):
                continue
            section, depth, count = page[SKETCH_BYTES:-2], page[-2], min(page[-1] + 1, 255)
            host.pages[place] = page[:-1] + bytes((count,))
            is_own = section == _code(self.is_of.section)
            is_beside = depth == self._depth() and (is_own or count <= MAX_VERSIONS)
            is_version = self.may_be_version() and (is_beside or place in self.is_of.parents)
            self.is_mirror |= is_version
            self.is_repeated |= not is_version and not is_own
        self.is_mirror = self.is_mirror and not self.is_repeated

    def may_be_version(self) -> bool:
        """Return True if this may be another version of a page, rather than a second URL for it."""
        is_moved = any(code in self.host.judged for code in self.is_of.endings)
        is_function = self.host.known(self.is_of.finest).is_function
        return "?" not in self.is_of.url and not is_moved and not is_function

    def remember(self, *, is_copy: bool) -> None:
        """Add the page to those that later pages are compared with."""
        host, traits = self.host, self.traits
        if not is_copy:
            host.pairs.add((*traits.pairs, *traits.numbers))
        within = [part.without for part in self.is_of.parts if not part.is_of_path]
        kind = _code(self.is_of.section) + bytes((self._depth(), 0))
        for place in (self.is_of.own, *within):
            host.pages.setdefault(place, traits.sketch.ljust(SKETCH_BYTES, b"\0") + kind)
        while len(host.pages) > MAX_PAGES:
            host.pages.popitem(last=False)
        for band in traits.bands:
            host.bands.setdefault(band, self.is_of.own)
        while len(host.bands) > MAX_BANDS:
            host.bands.popitem(last=False)

    def _depth(self) -> int:
        return min(self.is_of.url.partition("?")[0].count("/"), 255)


def _code(section: str) -> bytes:
    return (crc32(section.encode()) & 0xFFFF).to_bytes(2)
