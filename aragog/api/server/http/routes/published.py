"""The API's routes about the crawler: its key directory, its page and its list of addresses."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.problems import Problem
from aragog.api.server.http.etags import has_tag
from aragog.crawl.identity.published_files import Publication


class PublishedRoutes:
    """
    Sends what is published about the crawler, to everybody.

    Args:
        publication: has the files.
    """

    def __init__(self, publication: Publication) -> None:
        self._publication = publication
        self.paths = publication.paths

    async def answer(self, request: Request) -> Response:
        """Return the file, or 304 to those who have it."""
        file = self._publication.files().get(request.url.path)
        if file is None:
            raise Problem(404, "it is not published")
        headers = dict(file.headers)
        headers["ETag"] = f'"{hashlib.sha256(file.body).hexdigest()[:16]}"'
        if has_tag(request, headers["ETag"]):
            kept = ("ETag", "Cache-Control")
            return Response(None, 304, {name: headers[name] for name in kept})
        return Response(file.body, headers=headers)
