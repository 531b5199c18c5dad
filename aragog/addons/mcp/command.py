"""The command `aragog mcp`."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from typing import TYPE_CHECKING, Any

import click

from aragog.addons.mcp.clients import POOL_SIZE, TokenClients
from aragog.api.operations.scopes import READ, SCOPES
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import note
from aragog.client import Client, connect
from aragog.errors import ConfigError
from aragog.runtime.environment import variable
from aragog.runtime.extras import require
from aragog.runtime.hosts import is_loopback
from aragog.settings import Settings
from aragog.settings.extractor_names import field_prefix
from aragog.urlstore.field_formats import FieldFormats

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

TOKEN_VARIABLE = "ARAGOG_TOKEN"  # noqa: S105 - the name of a variable
DEADLINE_S = 30.0
_PORT = click.IntRange(1, 65_535)


@click.command("mcp")
@click.option("--url", help="Address of `aragog serve`; default: from the settings.")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), default=(READ,),
    show_default=True, help="Which tools to offer; repeatable. The token must allow them as well.",
)  # fmt: skip
@click.option("--port", type=_PORT, help="Serve HTTP on loopback, path /mcp, instead of stdio.")
def mcp_command(url: str | None, scopes: tuple[str, ...], port: int | None) -> None:
    """
    Offer the store and the fetcher to language models, over the Model Context Protocol.

    A program with a language model starts this command and talks to it over standard input and
    output. Its calls go to `aragog serve`, with the token in ARAGOG_TOKEN. With --port, each
    request needs its own token (Authorization).
    """
    require("mcp", "`aragog mcp`", module="mcp")
    settings = command_settings()
    address = url or _address(settings)
    formats = _formats(settings)
    if port is None:
        with connect(
            address, token=variable(TOKEN_VARIABLE), deadline_s=DEADLINE_S, field_formats=formats
        ) as client:
            asyncio.run(_serve_stdio(_server(lambda _: nullcontext(client), formats, scopes)))
        return
    _serve_http(address, formats, scopes, port)


def _server(client_for: Any, formats: Mapping[str, str], scopes: tuple[str, ...]) -> Server[Any]:
    from aragog.addons.mcp.tools import mcp_server  # noqa: PLC0415 - an extra

    return mcp_server(client_for, FieldFormats(formats), scopes)


async def _serve_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - an extra

    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _serve_http(
    address: str, formats: Mapping[str, str], scopes: tuple[str, ...], port: int
) -> None:
    import uvicorn  # noqa: PLC0415 - importing it takes 0.1 s

    with ExitStack() as clients:

        def connect_with(token: str | None) -> Client:
            return connect(
                address,
                token=token,
                deadline_s=DEADLINE_S,
                pool_size=POOL_SIZE,
                field_formats=formats,
            )

        tokens = clients.enter_context(closing(TokenClients(connect_with)))

        def client_for(context: Any) -> AbstractContextManager[Client]:
            header = context.request.headers.get("authorization", "")
            auth_scheme, _, token = header.partition(" ")
            return tokens.client(token.strip() or None if auth_scheme.lower() == "bearer" else None)

        server = _server(client_for, formats, scopes)
        app = server.streamable_http_app(stateless_http=True, json_response=True)
        try:
            listener = clients.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError as error:
            reason = os.strerror(error.errno or 0)  # the error's own text repeats the address
            raise ConfigError(f"--port: {port} cannot be used: {reason}") from error
        note(f"MCP on http://127.0.0.1:{port}/mcp")
        uvicorn.run(app, fd=listener.fileno(), log_level="warning", access_log=False)


def _address(settings: Settings) -> str:
    serving = settings.serving
    if not is_loopback(serving.host):
        raise ConfigError(f"serving.host is {serving.host}; pass the server's address with --url")
    scheme = "https" if serving.tls_cert_file else "http"
    return f"{scheme}://{serving.host}:{serving.http_port}"


def _formats(settings: Settings) -> dict[str, str]:
    extractors = {f"{field_prefix(name)}.*": "json" for name in settings.pipeline.extractors}
    return {**extractors, **settings.store.field_formats}
