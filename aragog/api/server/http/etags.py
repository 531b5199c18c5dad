"""Compute and compare ETags, and parse the preconditions of writes."""

from __future__ import annotations

import hashlib
import re

from starlette.requests import Request

from aragog.api.operations.writing import ANY_VERSION
from aragog.api.problems import Problem
from aragog.api.server.http.codings import accepted_codings
from aragog.errors import BadInput

_TAG = re.compile(r'"([!#-~]+)"')


def body_tag(version: str, body: bytes) -> str:
    """
    Return a record's ETag.

    It consists of the record's version, which `If-Match` needs, and a hash.
    """
    return f'"{version}.{hashlib.blake2b(body, digest_size=8).hexdigest()}"'


def coded_tag(tag: str, coding: str) -> str:
    """Return the ETag of a body in a Content-Encoding (RFC 9110, 8.8.3.3)."""
    return f'{tag[:-1]}-{coding}"'


def current_tag(request: Request, tag: str) -> str | None:
    """
    Return the ETag for a 304 (RFC 9110, 13.1.2 and 15.4.5), or None if the client needs the body.

    The result is the ETag that the client sent. A cache needs it to find its stored response, which
    may be compressed. A body in a coding that the client no longer accepts is not current.

    Args:
        request: a GET or HEAD.
        tag: the ETag of the uncompressed body.

    Raises:
        Problem: 412, If-Match has only other ETags (RFC 9110, 13.1.1).
    """
    accepted = accepted_codings(",".join(request.headers.getlist("accept-encoding")))
    candidates = (*(coded_tag(tag, coding) for coding in accepted), tag)
    expected = _sent_tags(request, "if-match")
    if expected and expected.isdisjoint({ANY_VERSION, *candidates}):
        raise Problem(412, "If-Match: the response has another ETag; request it without If-Match")
    cached_tags = {text.removeprefix("W/") for text in _sent_tags(request, "if-none-match")}
    matching_tag = next((candidate for candidate in candidates if candidate in cached_tags), None)
    return tag if matching_tag is None and ANY_VERSION in cached_tags else matching_tag


def _sent_tags(request: Request, name: str) -> set[str]:
    values = ",".join(request.headers.getlist(name))
    return {text.strip() for text in values.split(",") if text.strip()}


def expected_version(request: Request) -> str | None:
    """
    Return the version that a write expects.

    This is the version in If-Match, "" for `If-None-Match: *`, or None if any version will do.
    Other preconditions are errors, because ignoring them could lose a write.

    Raises:
        BadInput: If-Match is not one ETag or *, If-None-Match is not *, or both are sent.
    """
    expected = request.headers.getlist("if-match")
    excluded = request.headers.getlist("if-none-match")
    if expected and excluded:
        raise BadInput("If-Match and If-None-Match cannot be combined; send only one of them")
    if excluded:
        if excluded != [ANY_VERSION]:
            raise BadInput("If-None-Match: a write accepts only *; send If-Match with one ETag")
        return ""
    if not expected or expected == [ANY_VERSION]:
        return expected[0] if expected else None
    match = _TAG.fullmatch(expected[0])
    if match is None or len(expected) > 1:
        raise BadInput("If-Match: must be * or one ETag from this server")
    return match[1].partition(".")[0]  # the rest is a hash (`body_tag`)
