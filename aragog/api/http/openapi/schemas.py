"""The JSON schemas of the API's bodies, by name."""

from __future__ import annotations

from typing import Any

from aragog.fetcher.outcome import SINGLE_VALUES

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}


def _object(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _optional(*kinds: str) -> dict[str, Any]:
    return {"type": [*kinds, "null"]}


_RECORD = {
    "url": {**_TEXT, "description": "As asked, normalized."},
    "canonical_url": {**_TEXT, "description": "The URL that stands for the page."},
    "version": {**_TEXT, "description": "Changes with every write; part of the ETag."},
    "fields": {
        "type": "object",
        "description": "Field to value, by the declared format of each.",
        "additionalProperties": True,
    },
    "facts": {
        "type": "object",
        "description": "Of the last fetch that brought something about the page.",
        "additionalProperties": _optional("string", "number"),
    },
    "content_bytes": {
        **_optional("integer"),
        "description": "Size of the page's content before compression; null: no content.",
    },
    "content_hash": {
        **_optional("string"),
        "description": "SHA-256 of the content as it is stored, in hexadecimal digits.",
    },
    "due_at_ms": {
        **_optional("integer"),
        "description": "When the page is fetched again; null: never.",
    },
    "from_standby": {
        "type": "boolean",
        "description": "Read from the standby store, whose data may be older.",
    },
}
_HEADERS = {
    **_list(_list(_TEXT, minItems=2, maxItems=2)),
    "description": "Name and value, as received; up to 16 KiB, cookies without their values.",
}
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_DESCRIBED = {
    "url": "The URL that was requested; of an alias its own.",
    "total_ms": "With redirects and the waits for their slots; begins again after a redirect whose "
    "slot was more than a second away.",
}
_FETCH_RECORD = {
    name: {
        **(_optional(kind) if value.optional else {"type": kind}),
        **({"description": _DESCRIBED[name]} if name in _DESCRIBED else {}),
    }
    for name, value in SINGLE_VALUES.items()
    for kind in [_JSON_TYPES[value.type]]
}
_FRESHNESS = {
    "state": {**_TEXT, "enum": ["fresh", "stale", "absent"]},
    "age_s": {**_optional("number"), "description": "Since a fetch last confirmed the page."},
    "stale_fields": _TEXTS,
    "fetching": {"type": "boolean", "description": "It is in flight; ask again later."},
    "reason": {**_optional("string"), "description": "Why it is not fetched."},
}
REQUEST_ID = {
    **_TEXT,
    "pattern": "^[!-~]{0,64}$",
    "description": "Names what this call begins in the logs of all stages.",
}
_RECORD_NAMES = "url canonical_url version fields facts content_bytes content_hash due_at_ms"
_URLS = _list(_TEXT, maxItems=1000)

SCHEMAS: dict[str, Any] = {
    "Problem": _object(
        "type title status detail",
        type=_TEXT,
        title=_TEXT,
        status=_NUMBER,
        detail=_TEXT,
        code={**_TEXT, "description": "`taken_down`: the URL `url` was taken down."},
        url=_TEXT,
        found_version={**_TEXT, "description": "With 412: the record's version; empty: none."},
    ),
    "Record": _object(_RECORD_NAMES, **_RECORD),
    "FullRecord": _object(
        _RECORD_NAMES,
        **_RECORD,
        aliases=_TEXTS,
        inlinks=_NUMBER,
        freshness=_ref("Freshness"),
        fetch={"anyOf": [_ref("FetchReport"), {"type": "null"}]},
    ),
    "Hop": _object(
        "url status target headers",
        url={**_TEXT, "description": "The URL that redirected."},
        status=_NUMBER,
        target=_TEXT,
        latency_ms=_optional("number"),
        headers=_HEADERS,
    ),
    "FetchReport": _object(
        "url outcome fetched_at_ms final_url headers hops total_ms",
        **_FETCH_RECORD,
        headers=_HEADERS,
        hops=_list(_ref("Hop")),
    ),
    "BatchResult": _object(
        "input status",
        input={**_TEXT, "description": "The URL as it was sent."},
        status={
            **_NUMBER,
            "description": "200 with `record`; 400, 403, 404, 413 or 500 with `detail`.",
        },
        record=_ref("Record"),
        detail=_TEXT,
    ),
    "BatchResults": _object("results", results=_list(_ref("BatchResult"))),
    "PastValue": _object("value at_ms", value={}, at_ms=_NUMBER),
    "Change": _object(
        "cursor kind url at_ms owners fields",
        cursor=_TEXT,
        kind={**_TEXT, "enum": ["new", "changed", "gone"]},
        url=_TEXT,
        at_ms=_NUMBER,
        owners=_TEXTS,
        fields={"type": "object", "additionalProperties": _object("", before={}, now={})},
    ),
    "Freshness": _object("state fetching", **_FRESHNESS),
    "State": _object("status", status=_TEXT),
}
