"""
Calls with random arguments of the declared types raise declared exceptions only, and reveal no
bugs.
"""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import TCyBinaryProtocol
from thriftpy2.transport import TCyMemoryBuffer

from aragog.api.server.thrift.contract import CALL, idl, message_header
from aragog.api.server.thrift.wire import frame, read_head
from pinlater.cluster import Cluster, connect_shards
from tests.support.examples import examples
from tests.support.serving import served_page
from tests.support.thrift_server import running

pytestmark = [pytest.mark.redis, pytest.mark.slow]

A = "http://a.example/"
TEXTS = st.one_of(
    st.sampled_from(
        [A, "http://b.example/x", "mine", "page.title", "", "0-1", "nonsense", "é\0\n"]
    ),
    st.text(max_size=20),
)
_EDGES = [0, 1, -1, 7, 1000, 1001, 60_000, 2**31 - 1, -(2**31)]
NUMBERS = st.one_of(st.sampled_from(_EDGES), st.integers(-(2**31), 2**31 - 1))
LONG = st.one_of(NUMBERS, st.sampled_from([2**63 - 1, -(2**63), 2**53]))
PLAIN = {
    2: st.booleans(),
    8: NUMBERS,
    10: LONG,
    4: st.floats(),
    11: TEXTS,
    18: st.binary(max_size=20),
}
CALLS = [
    (service, name)
    for service in ("UrlStore", "Fetcher", "PinLater")
    for name in getattr(idl, service).thrift_services
    if name not in ("ping", "authenticate")
]


def values(kind, more):
    """Values of a type in the contract."""
    if kind == 12:
        return structs(more)
    if kind == 15:
        item = more if isinstance(more, tuple) else (more,)
        return st.lists(values(item[0], item[1] if len(item) > 1 else None), max_size=4)
    if kind == 13:
        key, value = more
        return st.dictionaries(values(key, None), values(value, None), max_size=4)
    return PLAIN[kind]


def structs(kind):
    """Structs of the contract, with random members missing."""
    members = {
        spec[1]: st.one_of(st.none(), values(spec[0], spec[2] if len(spec) == 4 else None))
        for spec in kind.thrift_spec.values()
    }
    if "max_wait_ms" in members:
        members["max_wait_ms"] = st.sampled_from([None, 0, -1, 60_001])
    if "wait_ms" in members:
        members["wait_ms"] = st.sampled_from([None, 0, -1, 50])
    if "deadline_ms" in members:
        members["deadline_ms"] = st.sampled_from([None, -1, 0, 20_000])
    return st.builds(kind, **members)


def message(service, name, arguments):
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(arguments)
    return frame(message_header(CALL, f"{service}:{name}".encode()), b"\0\0\0\7", buffer.getvalue())


def read(sock, size):
    data = b""
    while len(data) < size and (piece := sock.recv(size - len(data))):
        data += piece
    return data


@pytest.fixture
def server(pipeline_harness, redis_client, redis_url):
    store, enqueue, fetching = served_page(pipeline_harness, redis_client, A)
    cluster = Cluster(connect_shards([redis_url]))
    with running(store, enqueue=enqueue, fetching=fetching, cluster=cluster) as server:
        yield server
    fetching.close()


# The server's threads draw from `random` while Hypothesis draws, and Hypothesis blames its
# strategy.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.parametrize(("service", "name"), CALLS)
@examples(40, database=None)
@given(data=st.data())
def test_every_call_is_answered_as_the_contract_declares(server, service, name, data):
    arguments = data.draw(structs(getattr(getattr(idl, service), f"{name}_args")))
    with server.connect() as sock:
        sock.sendall(message(service, name, arguments))
        reply = read(sock, struct.unpack(">I", read(sock, 4))[0])
    reply_head = read_head(reply)
    result = getattr(getattr(idl, service), f"{name}_result")()
    assert reply_head.kind == 2, reply
    TCyBinaryProtocol(TCyMemoryBuffer(reply[reply_head.arguments_offset :])).read_struct(result)
    raised = {n for n, value in vars(result).items() if n != "success" and value is not None}
    # A deadline of 0 expires at once, and on a busy machine so may the default.
    assert not raised & {"internal_error", "unauthorized", "unavailable"}, result
