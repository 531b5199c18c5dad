"""The read API's OpenAPI document."""

from __future__ import annotations

from typing import Any


def _parameter(name: str, text: str, *, required: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": text,
        "schema": {"type": "string"},
    }


_URL = _parameter("url", "Any spelling or alias of the URL, percent-encoded.", required=True)
_ANSWERS = {
    "200": {"description": "found"},
    "400": {"description": "the request cannot be read; `error` says why"},
    "404": {"description": "nothing is known of the URL"},
    "503": {"description": "too many requests at once, or the store does not answer"},
}


def _get(text: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return {"get": {"summary": text, "parameters": [_URL, *parameters], "responses": _ANSWERS}}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "aragog", "version": "1"},
    "paths": {
        "/v1/urls": {
            **_get(
                "Fields and facts of a URL",
                _parameter("fields", "Names, separated by commas; all when missing."),
            ),
            "post": {
                "summary": "Fields and facts of up to 1,000 URLs",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["urls"],
                                "properties": {
                                    "urls": {"type": "array", "items": {"type": "string"}},
                                    "fields": {"type": "array", "items": {"type": "string"}},
                                },
                            }
                        }
                    }
                },
                "responses": _ANSWERS,
            },
        },
        "/v1/links": _get(
            "Links of a URL",
            _parameter("direction", "out (default) or in."),
            _parameter("limit", "1 to 1,000; 100 when missing."),
            _parameter("cursor", "As the page before gave it."),
        ),
        "/v1/aliases": _get("URLs that lead to the same page"),
        "/v1/history": _get(
            "Earlier values of a field", _parameter("field", "Its name.", required=True)
        ),
        "/v1/changes": {
            "get": {
                "summary": "What became other on pages fetched again; also as server-sent events",
                "parameters": [
                    _parameter("cursor", "As the answer before gave it; `now`: the feed's end."),
                    _parameter("owner", "Only pages that this owner holds."),
                    _parameter("host", "Only pages of this host."),
                    _parameter("limit", "1 to 1,000; 100 when missing."),
                    _parameter("wait_ms", "How long to wait for a change, up to 30,000."),
                ],
                "responses": _ANSWERS,
            }
        },
        "/v1/content": _get("The page's content as it was fetched"),
    },
}
