"""Calls that every service has, and messages that are not calls: answered on the event loop."""

from __future__ import annotations

from http import HTTPStatus

from aragog.api.auth.tokens import READ, Tokens
from aragog.api.problems import Problem
from aragog.api.thrift import wire
from aragog.api.thrift.connection import Connection
from aragog.api.thrift.contract import REPLY, head, session_call
from aragog.api.thrift.errors import raised_for


def session_reply(
    connection: Connection, frame: bytes, message: wire.MessageHead, tokens: Tokens
) -> bytes:
    """
    The reply to `ping`, to `authenticate`, and to messages that are not calls.

    `authenticate` sets `connection.authorization`.
    """
    call = session_call(message.name)
    if not wire.is_call(message.kind):
        return wire.refused(
            message.name, message.number, wire.INVALID_MESSAGE_TYPE, "only calls are accepted"
        )
    if call is None:
        return wire.refused(message.name, message.number, wire.UNKNOWN_METHOD, "unknown method")
    if call == b"authenticate":
        return _authenticate(connection, frame, message, tokens)
    return wire.frame(head(REPLY, call), message.number, b"\x00")


def _authenticate(
    connection: Connection, frame: bytes, message: wire.MessageHead, tokens: Tokens
) -> bytes:
    at = message.arguments_at
    token = frame[at + 7 : -1] if frame[at : at + 3] == b"\x0b\x00\x01" else b""
    authorization = f"Bearer {token.decode('utf-8', 'replace')}"
    connection.authorize(None)
    try:
        tokens.check(authorization, READ, counts=False)
    except Problem as problem:
        if problem.status == HTTPStatus.UNAUTHORIZED:
            error = raised_for(problem)
            return wire.raised(b"authenticate", message.number, error.field, error.error)
    connection.authorize(authorization)  # it is known, perhaps with other scopes
    return wire.frame(head(REPLY, b"authenticate"), message.number, b"\x00")
