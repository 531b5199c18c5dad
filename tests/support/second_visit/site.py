"""The sites of the table: one host per cell, whose pages change between the visits."""

from __future__ import annotations

from tests.support.origin import Origin, Request, Wire, answer, page, redirect

VERSIONS = ("one", "two", "other", "new", "alias", "imported")
PAGE, OTHER, NEW, ALIAS = "/page", "/other", "/new", "/alias"
TRAIN = "ai-train"
_TEXT_OF = {"one": "a", "other": "a", "alias": "a", "two": "b", "new": "c"}
"""Pages with the same text agree, whatever their titles."""
_NOAI = ("X-Robots-Tag", "noai")
_STATEMENTS = {
    "noindex": ("X-Robots-Tag", "noindex"),
    "usage": ("Content-Usage", "train-ai=n"),
    "new304": _NOAI,
}


def host_of(row: str, column: str) -> str:
    """Return the host of a cell. It is a separate domain, so that no cell waits for another."""
    return f"{row}-{column}.test"


def title(version: str, host: str) -> str:
    """Return the title of a page, with its version and host."""
    return f"{version} {host}"


def linked(version: str, host: str) -> str:
    """Return the URL to which only this version of a host's page links."""
    return f"http://{host}/linked-{version}"


def html(version: str, host: str) -> bytes:
    """Return a page with sixty words of text, which decide what pages agree with it."""
    words = " ".join(f"{_TEXT_OF[version]}{number}word" for number in range(60))
    return (
        f"<!doctype html><title>{title(version, host)}</title>"
        f"<main><p>{words}</p></main><a href='/linked-{version}'>link</a>"
    ).encode()


class Sites:
    """The current responses of all hosts. `answers` names the response of `/page` by host."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.robots: dict[str, str] = {}
        self.origin = Origin({"/*": self._answer})

    def _answer(self, request: Request, wire: Wire) -> bytes | None:
        host, path = request.host, request.path
        if path == "/robots.txt":
            return answer(200, f"User-agent: *\n{self.robots.get(host, 'Disallow:')}\n".encode())
        if path == PAGE:
            return self._page(request, wire, self.answers[host])
        if path == ALIAS:
            return page(html("alias", host), headers=(_canonical(host, PAGE),))
        version = path.strip("/")
        return page(html(version, host)) if version in _TEXT_OF else answer(404)

    def _page(self, request: Request, wire: Wire, now: str) -> bytes | None:
        host = request.host
        named = (_canonical(host, OTHER),) if host.startswith("alias-") else ()
        match now:
            case "known":
                return redirect(OTHER, 301)
            case "unknown":
                return redirect(NEW, 301)
            case "timeout":
                wire.pause(5)
                return None
            case "canonical":
                named = (_canonical(host, OTHER),)
        if now.isdigit():
            return answer(int(now))
        said = (_STATEMENTS[now],) if now in _STATEMENTS else ()
        if now in ("304", "new304") and request.header("If-None-Match"):
            etag = ("ETag", str(request.header("If-None-Match")))
            return answer(304, content_type=None, headers=(etag, *said, *named), length=False)
        version = "two" if now == "other" else "one"
        etag = ("ETag", f'"{version}"')
        return page(html(version, host), headers=(etag, *said, *named))


def _canonical(host: str, path: str) -> tuple[str, str]:
    return "Link", f'<http://{host}{path}>; rel="canonical"'
