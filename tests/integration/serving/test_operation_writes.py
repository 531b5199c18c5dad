"""Every write operation has the same effects, responses and errors over all interfaces."""

from dataclasses import asdict, replace

import pytest

from aragog.api.operations.graph import parse_node_id
from aragog.api.operations.graph_edges import GraphMutation
from aragog.api.operations.jobs import QueueJob
from aragog.api.operations.values import PageLink
from aragog.errors import (
    BadInput,
    ValueTaken,
    VersionConflict,
)
from tests.support.every_way import ALIAS, PINS, A, called, changed, graphs, plain, store, ways
from tests.support.stores import NOW_MS

pytestmark = pytest.mark.redis
__all__ = ["changed", "graphs", "store", "ways"]  # fixtures


def test_writes_have_the_same_effect_over_all_interfaces(ways):
    seen = []
    for way, client in ways.items():
        url = f"http://{way}.example/"
        version = client.put(url, {"a": b"1", "b": b"2"}, provenance={"a": "x"}, if_version="")
        with pytest.raises(VersionConflict) as conflict:
            client.put(url, {"a": b"9"}, if_version="")
        assert (conflict.value.url, conflict.value.expected) == (url, "")
        client.put(url, {"c": b"3"}, deleted=["b"], if_version="*")
        first = client.get(url).fields
        client.put(url, {"d": b"4"}, replace=True, at_ms=NOW_MS + 5)
        second = client.get(url).fields
        client.delete_fields(url, ["d", "never"])
        client.add_links(
            url, [PageLink("http://x.example/", "X", "nofollow"), PageLink("http://y.example/")]
        )
        links = client.outlinks(url).links
        client.remove_links(url, ["http://y.example/"])
        left = client.outlinks(url).links
        client.watch(url, "me")
        watchers = client.watchers(url)
        client.remove(url)
        seen.append(
            [conflict.value.found == version, first, second, links, left, watchers, client.get(url)]
        )
    assert seen[1:] == [seen[0]] * 3, seen


def test_taken_unique_value_names_its_record_over_all_interfaces(ways):
    for client in ways.values():
        client.put("http://first.example/", {"team.code": b"taken"})
        with pytest.raises(ValueTaken) as of_page:
            client.put("http://second.example/", {"team.code": b"taken"})
        with pytest.raises(ValueTaken) as of_node:
            client.put_node("d" * 32, {"team.code": b"taken"})
        with pytest.raises(ValueTaken) as in_graph:
            client.put_node("bob", {"user.email": b"a@x.example"}, graph="pins")
        with pytest.raises(ValueTaken) as in_batch:
            client.mutate(
                "pins",
                [GraphMutation("put_node", "bob", properties={"user.email": b"a@x.example"})],
            )

        named = [(r.value.name, r.value.url) for r in (of_page, of_node, in_graph, in_batch)]
        ada = ("user.email", parse_node_id("ada", "pins").hex())
        assert named == [("team.code", "http://first.example/")] * 2 + [ada] * 2


def test_templates_are_listed_and_decided_over_all_interfaces(ways):
    seen = []
    for client in ways.values():
        closed = client.decide_template("A.example", "/calendar/{n}/", "closed")
        listed = client.list_templates("a.example")
        with pytest.raises(BadInput, match="state"):
            client.decide_template("a.example", "/x", "asleep")
        learned = client.decide_template("a.example", "/calendar/{n}/", "learned")
        seen.append((closed, listed, learned))
    assert seen[1:] == [seen[0]] * 3, seen
    closed, listed, learned = seen[0]
    assert closed == listed
    assert [(one.template, one.state, one.by) for one in closed.templates] == [
        ("/calendar/{n}/", "closed", "operator")
    ]
    assert learned.templates == ()


def test_crawls_work_the_same_over_all_interfaces(ways):
    seen = []
    for way, client in ways.items():
        name = f"of-{way}"
        started = client.start_crawl(
            name, scope=["host:A.example"], depth=3, rate=0.5, purposes=["search"]
        )
        again = client.start_crawl(name, max_urls=9, nofollow=True)
        paused = client.set_crawl_state(name, "paused")
        with pytest.raises(BadInput, match="state"):
            client.set_crawl_state(name, "asleep")
        resumed = client.set_crawl_state(name, "running")
        dry = client.cancel_urls(hosts=["a.example"], dry_run=True)
        cancelled = client.cancel_urls(urls=[A], patterns=["*/x"])
        with pytest.raises(BadInput, match="is empty"):
            client.cancel_urls()
        deleted = client.delete_crawl(name)
        views = [asdict(view) for view in (started, again, paused, resumed)]
        for view in views:
            assert view.pop("created_at_ms") <= view.pop("changed_at_ms")
            assert view.pop("name") == name
        seen.append([views, dry, cancelled, deleted, client.get_crawl(name)])
    assert seen[1:] == [seen[0]] * 3, seen
    assert [view["state"] for view in seen[0][0]] == ["running", "running", "paused", "running"]


def test_jobs_work_the_same_over_all_interfaces(ways):
    seen = []
    for way, client in ways.items():
        added = client.enqueue_jobs(way, [QueueJob(b"\x00\xff", unique_key="k"), QueueJob(b"2")])
        again = client.enqueue_jobs(way, [QueueJob(b"3", unique_key="k")])
        claimed = client.dequeue_jobs(way, 10, worker="w")
        claims = [job.claim for job in claimed]
        seen.append(
            [
                [job.already_there for job in added + again],
                sorted(job.body for job in claimed),
                client.extend_jobs(way, claims, 5000),
                client.nack_jobs(way, claims[:1], reason="no", fail=True),
                client.ack_jobs(way, claims),
                client.dequeue_jobs(way),
            ]
        )
        with pytest.raises(BadInput, match="belongs to queue"):
            client.ack_jobs("other", claims)
    assert seen[1:] == [seen[0]] * 3, seen


def test_queues_are_managed_the_same_over_all_interfaces(ways):
    seen = []
    for way, client in ways.items():
        queue, json = f"watched-{way}", "application/json"
        jobs = [QueueJob(b"{}", name="mail", content_type=json) for _ in range(3)]
        client.enqueue_jobs(queue, [*jobs, QueueJob(b"4", delay_ms=60_000, unique_key="k")])
        claimed = client.dequeue_jobs(queue, 2)
        kinds = [(job.name, job.content_type, job.body) for job in claimed]
        client.nack_jobs(queue, [job.claim for job in claimed], reason="no", fail=True)
        failed = client.list_jobs(queue)
        first = client.retry_jobs(queue, [failed[0].job_id])
        state = client.queue_state(queue)
        settings = client.configure_queue(
            queue=queue,
            paused=True,
            rate=3.5,
            retry_policy="pinlater",
            retry_growth=3.0,
            max_age_ms=1000,
        )
        changed = client.configure_queue(
            queue=queue, paused=False, rate=0.0, retry_policy="default"
        )
        seen.append(
            [
                kinds,
                [(job.state, job.problem, job.body, job.attempts, job.name) for job in failed],
                first,
                (state.due, state.later, state.failed, state.running, state.paused, state.rate),
                replace(settings, queue="", oldest_due_ms=0),
                replace(changed, queue="", oldest_due_ms=0),
                client.retry_jobs(queue),
                [job.unique_key for job in client.list_jobs(queue, "PENDING", 10)],
                client.delete_jobs(queue, "PENDING"),
                queue in client.list_queues(),
                client.queue_state("unknown"),
                called(client, "delete_jobs", ({"queue": queue, "state": "RUNNING"},)),
                called(client, "configure_queue", ({"queue": queue, "job_type": "x"},)),
            ]
        )
    assert seen[1:] == [seen[0]] * 3, seen
    assert seen[0][3] == (2, 1, 1, 0, False, None)
    assert (seen[0][4].max_attempts, seen[0][4].retry_growth, seen[0][4].paused) == (11, 3.0, True)
    assert (seen[0][5].max_attempts, seen[0][5].rate) == (10, None)


def test_graph_writes_work_the_same_over_all_interfaces(ways, store):
    seen = []
    for n, client in enumerate(ways.values()):
        node, other = f"{n}" * 32, "http://b.example/"
        client.put_node(node, {"team.n": b"9", "raw": b"\xff"})
        client.put_edge(node, 16, other, score=3, properties={"w": b"\x00"})
        client.put_edge(node, 16, other)
        counts = client.count_edges(node, 16), client.count_edges(other, 16, "in")
        edges = client.edges(node, 16).edges
        client.remove_edge(node, 16, other, score=3)
        left = client.edges(node, 16, reverse=True).edges
        found = [entry == node for entry in client.lookup("team.n", b"9").nodes]
        properties = client.get_node(node).properties
        client.remove_node(node)
        gone = client.get_node(node), client.count_edges(other, 16, "in")
        refusals = [
            called(client, "put_node", (page_node, {"properties": {"a": b"1"}}))
            for page_node in (A, ALIAS)
        ]
        refusals += [called(client, "put_edge", (node, 1, other, {}))]
        refusals += [called(client, "put_edge", (node, 16, "http://g.example/", {}))]
        seen.append([counts, edges, left, found, properties, gone, refusals])
    assert seen[1:] == [seen[0]] * 3, seen


def test_mutations_of_a_graph_work_the_same_over_all_interfaces(ways, graphs):
    seen = []
    for way, client in ways.items():
        user, pin = f"user:{way}", f"pin:{way}"
        client.put_node(user, {"user.email": way.encode(), "raw": b"\xff"}, graph="pins")
        client.put_edge(user, 16, pin, score=3, properties={"w": b"\x00"}, graph="pins")
        client.put_edge(user, 16, pin, score=2**62, graph="pins")
        client.mutate(
            "pins",
            [
                GraphMutation("put_node", pin, properties={"pin.site": way.encode()}),
                GraphMutation("put_edge", user, 17, pin, score=-1, properties={"w": b"\xff"}),
                GraphMutation("put_edge", user, 17, "none"),
                GraphMutation("remove_edge", user, 17, "none"),
                GraphMutation("put_node", "none"),
                GraphMutation("remove_node", "none"),
            ],
        )
        shown = [client.edges(user, kind, graph="pins").edges for kind in (16, 17)]
        found = client.lookup("pin.site", way.encode(), graph="pins").nodes
        names = [
            (edge.node == found[0], edge.score, edge.properties) for page in shown for edge in page
        ]
        counts = (
            client.count_edges(user, 16, graph="pins"),
            client.count_edges(pin, 16, "in", graph="pins"),
        )
        refusals = [
            called(client, name, arguments)
            for name, arguments in [
                ("put_node", ("other", {"user.email": way.encode()}, PINS)),
                ("mutate", ("pins", [GraphMutation("put_edge", "a", 16)])),
                (
                    "mutate",
                    ("pins", [GraphMutation("put_node", "a"), GraphMutation("put_node", "a", 16)]),
                ),
                ("mutate", ("pins", [GraphMutation("put_node", "")])),
                ("mutate", ("pins", [GraphMutation("put_edge", "a", 1, "b")])),
                ("mutate", ("pins", [GraphMutation("nothing", "a")])),
                ("mutate", ("none", [GraphMutation("put_node", "a")])),
                ("put_edge", ("a", 16, "b", {"graph": "none"})),
            ]
        ]
        refusals[0] = refusals[0].replace(parse_node_id(user, "pins").hex(), "ID")
        client.remove_edge(user, 16, pin, graph="pins")
        gone = client.get_edge(user, 16, pin, graph="pins")
        client.remove_node(user, graph="pins")
        left = client.get_node(user, graph="pins"), client.count_edges(pin, 16, "in", graph="pins")
        assert client.get_node(pin, graph="pins").properties == {"pin.site": way.encode()}
        seen.append([names, counts, refusals, gone, left])
    assert seen[1:] == [seen[0]] * 3, seen
    assert seen[0][0] == [(True, 2**62, {"w": b"\x00"}), (True, -1, {"w": b"\xff"})]
    assert "mutations[1]" in seen[0][2][2]


def test_takes_and_trims_work_the_same_over_all_interfaces(ways):
    seen = []
    for way, client in ways.items():
        user = f"taker:{way}"
        client.mutate(
            "pins",
            [GraphMutation("put_edge", user, 17, f"pin {n}", n, {"w": b"\xff"}) for n in range(9)]
            + [GraphMutation("put_edge", user, 18, "pin 0", order=b"an\xff")],
        )
        client.put_edge(user, 18, "pin 1", order=b"\0", graph="pins")
        first = client.take_edges("pins", user, 17, 2, request_id="r 1")
        again = client.take_edges("pins", user, 17, 2, request_id="r 1")
        lowest = client.take_edges("pins", user, 17, 1, lowest=True)
        trims = [
            client.trim_edges("pins", user, 17, 3),
            client.trim_edges("pins", user, 17, 3, lowest=True),
            client.trim_edges("pins", "pin 5", 17, 99, "in"),
        ]
        left = [edge.score for edge in client.edges(user, 17, graph="pins").edges]
        ordered = client.take_edges("pins", user, 18, 9)
        refusals = [
            called(client, name, arguments)
            for name, arguments in [
                ("take_edges", ("pins", user, 17, 0)),
                ("take_edges", ("pins", user, 17, 1001)),
                ("take_edges", ("pins", user, 15, 1)),
                ("take_edges", ("none", user, 17, 1)),
                ("trim_edges", ("pins", user, 17, -1)),
                ("put_edge", (user, 17, "pin", {"graph": "pins", "order": b"x"})),
                ("put_edge", ("a" * 32, 17, "b" * 32, {"order": b"x"})),
                ("mutate", ("pins", [GraphMutation("put_edge", "a", 17, "b", order=b"x")])),
            ]
        ]
        seen.append(plain([first, again, lowest, trims, left, ordered, refusals]))
    assert seen[1:] == [seen[0]] * 3, seen
    first, again, lowest, trims, left, ordered, refusals = seen[0]
    assert first == again
    assert [edge["score"] for edge in first + lowest] == [8, 7, 0]
    assert (trims, left) == ([3, 0, 0], [4, 5, 6])
    assert [edge["order"] for edge in ordered] == [b"an\xff", b"\0"]
    assert "mutations[0]: order" in refusals[-1]


def test_takedowns_work_the_same_over_all_interfaces(ways, changed):
    seen = []
    for way, client in ways.items():
        url = f"http://{way}.example/"
        client.put(url, {"a": b"1"})
        counts = client.take_down(host=f"{way}.example"), client.take_down(url=url)
        refused = called(client, "get", (url,))[-14:]
        lifted = (
            client.lift_takedown(host=f"{way}.example"),
            client.lift_takedown(host=f"{way}.example"),
        )
        still = called(client, "get", (url,))[-14:]
        client.lift_takedown(url=url)
        wrong = called(client, "take_down", ({"url": url, "host": "x.example"},))
        seen.append([counts, refused, lifted, still, client.get(url), wrong, list(changed)])
        changed.clear()
    assert seen[1:] == [seen[0]] * 3, seen
    assert seen[0][-1] == [True, True, False, False, False]
