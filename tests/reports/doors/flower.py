"""
Flower with aragog's pages, as used by a browser or a program.

Input: `environ`, variables of Flower; `jobs`, names of tasks that wait in the queue `fetch`, for an
hour with `later`; `asks`, requests in order, each a method, a path and optionally `form`,
`headers`, `host` (the Host header) and `login`. In paths, `{task}` is the id of the first job, and
`{worker}` the name of the worker.

The answers are for the last request: `status`, `body`, and `links`, the paths in href, src and
action that do not begin with `prefix`, and URLs that contain Flower's own port; `statuses` of all
requests; `traceback` in any log.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from http.cookiejar import CookieJar
from typing import Any

from pinlater.admin import Admin
from pinlater.models import NewJob
from tests.reports.doors import _servers
from tests.support.flower_server import FlowerSystem
from tests.support.waiting import wait_until

LINKS = re.compile(r"""(?:href|src|action)=["']([^"'#]+)""")
TASK = "11111111-2222-3333-4444-555555555555"


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Flower's response."""
    system = _servers.flower(tuple(sorted(given.get("environ", {}).items())))
    admin = Admin.connect(system.settings.broker.url)
    _enqueue(admin, given)
    names = {"{task}": TASK}
    if "{worker}" in str(given["asks"]):
        names["{worker}"] = _worker(system)
    opener = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.ProxyHandler({})
    )
    answers = [_ask(opener, system, names, *each) for each in given["asks"]]
    status, body = answers[-1]
    found = {
        "status": status, "body": body, "statuses": [status for status, _ in answers],
        "traceback": "Traceback" in system.logs(),
        "links": sorted({
            link for link in LINKS.findall(body)
            if (link[0] == "/" and not link.startswith(given.get("prefix", "/")))
            or f":{system.port}" in link
        }),
    }  # fmt: skip
    if body.startswith(("{", "[")):
        found |= {f"json.{name}": value for name, value in _flat(json.loads(body))}
    return found


def _flat(value: Any) -> list[tuple[str, Any]]:
    """The values of an object by name; lists of queues by queue name."""
    if not isinstance(value, dict):
        return []
    rows = [*value.items()]
    for row in value.get("active_queues", ()):
        rows.append((row["name"], row["messages"]))
    return rows


def _enqueue(admin: Admin, given: Mapping[str, Any]) -> None:
    admin.purge("fetch")
    delay_ms = 3_600_000 if given.get("later") else 0
    jobs = [
        NewJob(b"{}", name=name, key=TASK if number == 0 else f"id-{number}", delay_ms=delay_ms)
        for number, name in enumerate(given.get("jobs", ()))
    ]
    if jobs:
        admin.cluster.enqueue("fetch", jobs)


def _worker(system: FlowerSystem) -> str:
    def names() -> list[str]:
        with urllib.request.urlopen(f"{system.url}/api/workers?refresh=1", timeout=60) as answer:
            return list(json.loads(answer.read()))

    return str(wait_until(names, every_s=0.3)[0])


def _ask(
    opener: urllib.request.OpenerDirector,
    system: FlowerSystem,
    names: Mapping[str, str],
    method: str,
    path: str,
    more: Mapping[str, Any] | None = None,
) -> tuple[int, str]:
    more = more or {}
    for name, value in names.items():
        path = path.replace(name, urllib.parse.quote(value))
    form = urllib.parse.urlencode(more["form"]).encode() if "form" in more else None
    if method == "POST" and form is None:
        form = b""
    url = f"{system.url}{path}"
    request = urllib.request.Request(url, form, dict(more.get("headers", {})), method=method)
    if "host" in more:
        request.add_header("Host", more["host"])
    if "login" in more:
        request.add_header("Authorization", f"Basic {b64encode(more['login'].encode()).decode()}")
    try:
        with opener.open(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
