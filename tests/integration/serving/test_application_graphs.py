"""Graphs of applications on the servers: the documented example, tokens, and commands."""

import contextlib
import io
import os
from contextlib import closing
from dataclasses import replace

import pytest
from click.testing import CliRunner

from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.bootstrap.graphs import application_graphs, graph_tables
from aragog.cli import main
from aragog.client import GraphMutation, connect
from aragog.errors import AccessDenied, BadInput, ConfigError
from aragog.settings import Settings, StoreSettings, load_settings
from tests.support import api_server, thrift_server
from tests.support.documented import Shell, blocks
from tests.support.stores import store_harness
from urlspelling import url_key
from zengraph import OUT
from zengraph.records import count_column
from zengraph.tables.memory import MemoryTables

DOCS = "docs/extending.md#your-own-graphs"


@pytest.fixture
def settings(tmp_path):
    """The documented settings, with data in a folder of this test."""
    (tmp_path / "aragog.toml").write_text(blocks(DOCS, "toml")[0])
    environ = {"ARAGOG_DATA_DIR": str(tmp_path / "data")}
    return load_settings(tmp_path / "aragog.toml", environ)


def test_documented_commands_and_program_print_what_is_shown(settings, tmp_path):
    (tmp_path / "pins.json").write_text(blocks(DOCS, "json")[0])
    store = store_harness(MemoryTables()).store
    with (
        closing(application_graphs(settings)) as graphs,
        api_server.running(store, Services(graphs=graphs)) as server,
    ):
        address = f"127.0.0.1:{server.port}"
        shell = Shell(dict(os.environ), tmp_path, instead={"127.0.0.1:8100": address})

        assert not shell.mismatches(DOCS)

        for program, expected in zip(blocks(DOCS, "python"), blocks(DOCS, "text"), strict=True):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(program.replace("127.0.0.1:8100", address), {})
            assert printed.getvalue() == expected


def test_token_is_valid_for_the_graphs_in_its_scopes(settings):
    names = {"reader": ["read"], "pins": ["read@pins"], "writer": ["write@pins"], "admin": ["admin"],
             "other": ["read@feeds", "write@feeds"]}  # fmt: skip
    made = {name: new_token(name, scopes) for name, scopes in names.items()}
    entries = {"tokens": tuple(entry for _, entry in made.values())}
    store = store_harness(MemoryTables()).store
    with (
        closing(application_graphs(settings)) as graphs,
        api_server.running(store, Services(graphs=graphs), **entries) as http,
        thrift_server.running(store, graphs=graphs, **entries) as thrift,
    ):
        for address in (f"http://127.0.0.1:{http.port}", f"thrift://127.0.0.1:{thrift.port}"):
            assert_scopes_hold(address, {name: token for name, (token, _) in made.items()})


CALLS = {
    "read the store": lambda c: c.edges("a" * 32, 16),
    "read a page": lambda c: c.get("http://a.example/"),
    "write the store": lambda c: c.put_node("a" * 32, {"x": b"1"}),
    "read pins": lambda c: c.edges("a", 16, graph="pins"),
    "scan pins": lambda c: c.scan_nodes("pins"),
    "read pins by prefix": lambda c: c.node_properties("pins", "a", "x"),
    "take pins": lambda c: c.take_edges("pins", "a", 16, 1),
    "trim pins": lambda c: c.trim_edges("pins", "a", 16, 1),
    "write pins": lambda c: c.put_node("a", {"x": b"1"}, graph="pins"),
    "change pins": lambda c: c.mutate("pins", [GraphMutation("put_node", "a")]),
}
ALLOWED = {
    "reader": {"read the store", "read a page"},
    "pins": {"read pins", "read pins by prefix", "scan pins"},
    "writer": {"write pins", "change pins", "take pins", "trim pins"},
    "admin": set(CALLS),
    "other": set(),
}


def assert_scopes_hold(address, tokens):
    for name, token in tokens.items():
        with connect(address, token=token, deadline_s=60) as client:
            allowed = set()
            for what, call in CALLS.items():
                with contextlib.suppress(AccessDenied):
                    call(client)
                    allowed.add(what)
            assert allowed == ALLOWED[name], (address, name)
            assert client.token_view().name == name


def test_documented_command_creates_a_token_for_a_graph(settings):
    (command,) = blocks(DOCS, "sh")

    printed = CliRunner().invoke(main, command.split()[1:]).output
    refused = CliRunner().invoke(main, ["token", "x", "--scope", "read@Pins"])

    entry = printed.partition("entry: ")[2].strip()
    tokens = {"ARAGOG_SERVING__TOKENS": entry}
    path = settings.data_dir.parent / "aragog.toml"
    assert load_settings(path, tokens).serving.tokens == (entry,)
    assert "read@pins+write@pins" in entry
    assert refused.exit_code == 2
    with pytest.raises(ConfigError, match=r"names a graph that is not in store\.graphs"):
        load_settings(path, {**tokens, "ARAGOG_STORE__GRAPHS": "feeds"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("GRAPHS", "Pins"), ("GRAPHS", "a:b"), ("GRAPH_INDEXED", "feeds:x"), ("GRAPH_UNIQUE", "pins"),
     ("GRAPH_COUNTED", "pins:x"), ("GRAPH_COUNTED", "pins:15"), ("GRAPH_PACKED", "pins:x"), ("GRAPH_PACKED", "pins:16")],
)  # fmt: skip
def test_invalid_declaration_is_refused(settings, name, value):
    path = settings.data_dir.parent / "aragog.toml"

    with pytest.raises(ConfigError, match=f"store.{name.lower()}"):
        load_settings(path, {f"ARAGOG_STORE__{name}": value})


def test_packed_edges_are_taken_over_http_and_thrift(settings):
    own = replace(settings.store, graph_packed=("pins:30",))
    store = store_harness(MemoryTables()).store
    with (
        closing(application_graphs(replace(settings, store=own))) as graphs,
        api_server.running(store, Services(graphs=graphs)) as http,
        thrift_server.running(store, graphs=graphs) as thrift,
    ):
        for address in (f"http://127.0.0.1:{http.port}", f"thrift://127.0.0.1:{thrift.port}"):
            with connect(address) as client:
                for score in range(6):
                    client.put_edge("user:ada", 30, f"pin:{score}", score=score, graph="pins")
                taken = client.take_edges("pins", "user:ada", 30, 2, request_id=address)
                assert [edge.score for edge in taken] == [5, 4]
                assert client.take_edges("pins", "user:ada", 30, 2, request_id=address) == taken
                assert client.trim_edges("pins", "user:ada", 30, 3) == 1
                assert client.count_edges("user:ada", 30, graph="pins") == 3
                page = client.edges("user:ada", 30, graph="pins", reverse=True)
                assert [edge.score for edge in page.edges] == [3, 2, 1]
                with pytest.raises(BadInput, match=r"packed \(store\.graph_packed\)"):
                    client.edges("pin:1", 30, graph="pins", direction="in")


@pytest.mark.redis
def test_graph_is_repaired_by_its_name(settings, cli_environ, monkeypatch):
    monkeypatch.setenv("ARAGOG_SETTINGS", str(settings.data_dir.parent / "aragog.toml"))
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(settings.data_dir))
    board = url_key("board:kitchens")
    with closing(application_graphs(settings)) as graphs:
        graphs["pins"].put_edge(board, 16, url_key("user:ada"))
    with closing(graph_tables(settings, "pins")) as tables:
        tables["n"].incr(board, count_column(OUT, 16), 4)

    printed = [CliRunner().invoke(main, ["store", "repair-graph", "pins"]).output for _ in "ab"]
    unknown = CliRunner().invoke(main, ["store", "repair-graph", "none"])

    assert printed == ["           1 repaired: counts\n", "no problems found\n"]
    assert unknown.exit_code != 0
    assert "store.graphs" in unknown.output
    with closing(application_graphs(settings)) as graphs:
        assert graphs["pins"].count_edges(board, OUT, 16) == 1


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "hbase"])
def test_graphs_have_their_own_tables_on_every_engine(settings, engine):
    if engine == "sqlite":
        with closing(graph_tables(settings, "pins")) as tables:
            tables.create()
            assert len(list((settings.data_dir / "graphs" / "pins").glob("*.db"))) == 4
        return
    own = graph_tables_of(engine)
    assert own == {"postgres": "aragog_g_pins", "hbase": b"aragog_g_pins_n"}[engine]


@pytest.mark.redis
def test_hbase_shell_commands_create_the_tables_of_graphs(cli_environ, monkeypatch):
    monkeypatch.setenv("ARAGOG_STORE__GRAPHS", "pins")

    printed = CliRunner().invoke(main, ["store", "create-tables", "--print"]).output

    assert "create 'aragog_e'" in printed
    assert "create 'aragog_g_pins_e'" in printed


def graph_tables_of(engine):
    """Where the tables of a graph are, without connecting."""
    settings = Settings(store=StoreSettings(engine=engine, dsn="postgresql://u@localhost/d"))
    with closing(graph_tables(settings, "pins")) as tables:
        return tables.schema.name if engine == "postgres" else tables["n"]._name


NO_NAMES = ["pi\0ns", "\0", "a\r\nSet-Cookie: a=b", "ä", "a" * 20 + "\n", '"', "pins\n"]


@pytest.mark.parametrize("name", NO_NAMES)
def test_impossible_graph_name_gets_a_response(settings, name):
    """A name with NUL got none: the scope that its token lacked was part of a header."""
    token, entry = new_token("reader", ["read"])
    writer, other = new_token("writer", ["write@pins", "read@pins"])
    store = store_harness(MemoryTables()).store
    with (
        closing(application_graphs(settings)) as graphs,
        api_server.running(store, Services(graphs=graphs), tokens=(entry, other)) as http,
        thrift_server.running(store, graphs=graphs, tokens=(entry, other)) as thrift,
    ):
        for each in (token, writer):
            reply = http.ask(
                "POST", "/v1/nodes:scan", {"graph": name}, Authorization=f"Bearer {each}"
            )
            assert reply.status == 400
            assert reply.json["detail"].startswith("graph: ")
            with (
                connect(f"thrift://127.0.0.1:{thrift.port}", token=each, deadline_s=60) as client,
                pytest.raises(BadInput, match="graph: "),
            ):
                client.scan_nodes(name)
