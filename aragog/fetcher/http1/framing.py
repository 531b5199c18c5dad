"""The framing of a response body, computed from its head (RFC 9112 section 6.3). Pure."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from aragog.fetcher.faults import TransportError, UnsupportedContent
from aragog.fetcher.http1.head import ResponseHead
from aragog.fetcher.outcome import UnreachableKind

# The same limit as curl; more layers are an attack.
MAX_CODINGS = 5

TRANSFER_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})

# A larger length is ignored: the body then ends with the connection or at a size limit.
NO_LENGTH = 1 << 63


class Delimiter(Enum):
    """What ends a body."""

    NO_BODY = auto()
    LENGTH = auto()
    LAST_CHUNK = auto()
    CLOSE = auto()
    """The end of the connection."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How the body is delimited."""

    delimiter: Delimiter
    length: int = 0
    """Bytes, with the delimiter LENGTH."""
    codings: tuple[str, ...] = ()
    """Transfer codings inside the chunks, in the order they were applied."""
    persistent: bool = False
    """True when the connection may carry another request after this body."""


def check_codings(names: Sequence[str], supported: Container[str], kind: str) -> None:
    """
    Check the codings of a body; `kind` is `transfer` or `content`, for messages.

    Raises:
        UnsupportedContent: one is not known.
        TransportError: there are more than `MAX_CODINGS`.
    """
    if unknown := [name for name in names if name not in supported]:
        raise UnsupportedContent(f"unknown {kind} coding {unknown[0][:60]!r}")
    if len(names) > MAX_CODINGS:
        raise TransportError(
            UnreachableKind.PROTOCOL,
            f"{len(names)} nested {kind} codings; {MAX_CODINGS} are supported",
        )


def framing_of(head: ResponseHead) -> Framing:
    """
    Return the framing of a final response to GET.

    Raises:
        TransportError: the lengths differ or are not numbers, `chunked` is not the last coding, or
            there are both a length and a transfer coding. RFC 9112 section 6.3 calls the latter a
            sign of response splitting: a proxy on the way may have seen another end of the body.
        UnsupportedContent: an unknown transfer coding.
    """
    persistent = _persistent(head)
    if head.status in (204, 304):
        return Framing(Delimiter.NO_BODY, persistent=persistent)
    if codings := head.tokens("transfer-encoding"):
        if head.values("content-length"):
            raise TransportError(
                UnreachableKind.PROTOCOL, "both Transfer-Encoding and Content-Length"
            )
        return _transferred(codings, persistent=persistent and head.minor == 1)
    lengths = {
        _length(part) for value in head.values("content-length") for part in value.split(",")
    }
    if len(lengths) > 1:
        raise TransportError(UnreachableKind.PROTOCOL, "several Content-Length headers that differ")
    length = lengths.pop() if lengths else NO_LENGTH
    if length >= NO_LENGTH:
        return Framing(Delimiter.CLOSE)
    return Framing(Delimiter.LENGTH, length, persistent=persistent)


def _transferred(codings: list[str], *, persistent: bool) -> Framing:
    names = [coding.partition(";")[0].strip() for coding in codings]
    while names[-2:] == ["chunked", "chunked"]:
        names.pop()  # curl and browsers treat a repeated `chunked` as one
    if "chunked" in names[:-1]:
        raise TransportError(
            UnreachableKind.PROTOCOL, "Transfer-Encoding: chunked is not the last coding"
        )
    chunked = names[-1] == "chunked"
    under = [name for name in names[: -1 if chunked else None] if name != "identity"]
    check_codings(under, TRANSFER_CODINGS, "transfer")
    if chunked:
        return Framing(Delimiter.LAST_CHUNK, codings=tuple(under), persistent=persistent)
    return Framing(Delimiter.CLOSE, codings=tuple(under))


def _length(text: str) -> int:
    digits = text.strip(" \t")
    if not (digits.isascii() and digits.isdigit()):
        raise TransportError(
            UnreachableKind.PROTOCOL, f"Content-Length is not a number: {text[:40]!r}"
        )
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < 20 else NO_LENGTH


def _persistent(head: ResponseHead) -> bool:
    """RFC 9112 section 9.3: HTTP/1.0 connections persist only with `keep-alive`."""
    options = head.tokens("connection")
    if "close" in options:
        return False
    return head.minor == 1 or "keep-alive" in options
