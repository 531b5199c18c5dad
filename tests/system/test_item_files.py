"""Files of items end to end: fetched as politely as pages, stored once, listed with their items."""

import hashlib
import json
import signal
import subprocess
import sys

import pytest

from tests.support.documented import blocks
from tests.support.item_runs import LIMIT_S, environment, prepare, run, started
from tests.support.origin import Origin, answer, page, redirect
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

DOCS = "docs/own-fields.md#items"
(RULES,) = (text for text in blocks(DOCS, "toml") if "files = [" in text)
RUN, EXPORT = blocks(DOCS, "sh")[1].splitlines()
(SHOWN,) = map(json.loads, blocks(DOCS, "json"))
LISTING = "http://shop.test/c/lamps"
CDN = "http://cdn-of-shops.test"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(range(256)) * 3
PDF = b"%PDF-1.7\n" + bytes(range(256))
NO_ROBOTS = answer(404, b"")


def as_type(content_type, body):
    return answer(200, body, content_type=content_type)


CARDS = f"""
<div class=card><b class=sku>L-1</b><img src="{CDN}/l-1.png">
<a class=sheet href="/sheets/1.pdf">one</a><a class=sheet href="/sheets/gone.pdf">two</a></div>
<div class=card><b class=sku>L-2</b><img src="/img/l-2"></div>
<div class=card><b class=sku>L-3</b><img src="data:image/png;base64,AAAA">
<a class=sheet href="/sheets/private.pdf">three</a><a class=sheet href="/c/page">four</a></div>
"""


@pytest.fixture
def shop():
    """
    A shop whose images are on other hosts, redirect, are missing, refused or not files at all.
    """
    routes = {
        "//shop.test/robots.txt": answer(
            200, b"User-agent: *\nDisallow: /sheets/private\n", content_type="text/plain"
        ),
        "//shop.test/c/lamps": page(CARDS.encode()),
        "//shop.test/c/page": page(b"<h1>a page</h1>"),
        "//shop.test/sheets/1.pdf": as_type("application/pdf", PDF),
        "//shop.test/sheets/gone.pdf": answer(404, b""),
        "//shop.test/img/l-2": redirect(f"{CDN}/l-2.webp", 301),
        "//cdn-of-shops.test/robots.txt": NO_ROBOTS,
        "//cdn-of-shops.test/l-1.png": as_type("image/png", PNG),
        "//cdn-of-shops.test/l-2.webp": as_type("image/webp", WEBP),
    }
    with Origin(routes) as origin:
        yield origin


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path, RULES.replace('.example"', '.test"'), f"{LISTING}\n")


def requests(shop, path):
    return sum(seen.path.endswith(path) for seen in shop.seen)


def items(folder):
    return {row["sku"]: row for row in map(json.loads, (folder / "lamps.jsonl").open())}


def stored(url, body, content_type):
    sha256 = hashlib.sha256(body).hexdigest()
    return {"url": url, "sha256": sha256, "type": content_type, "bytes": len(body)}


def test_run_stores_the_files_of_its_items_and_counts_them(folder, shop):
    _, errors = run(folder, shop, RUN)

    found = items(folder)
    assert found["L-1"].keys() > SHOWN.keys()
    assert found["L-1"]["image.file"].keys() == SHOWN["image.file"].keys()
    assert found["L-1"]["image.file"] == stored(f"{CDN}/l-1.png", PNG, "image/png")
    assert found["L-1"]["sheets.file"] == [
        stored("http://shop.test/sheets/1.pdf", PDF, "application/pdf"), None,
    ]  # fmt: skip
    assert found["L-2"]["image"] == "http://shop.test/img/l-2"
    assert found["L-2"]["image.file"] == stored(f"{CDN}/l-2.webp", WEBP, "image/webp")
    assert found["L-3"]["image.file"] is None
    assert found["L-3"]["sheets.file"] == [None, None]
    last = errors.splitlines()[-1]
    assert last.startswith("3 items on 1 pages of 1 URLs; 3 of 6 files ("), last
    assert all(reason in last for reason in ("1 Gone 404", "1 Refused", "1 Unreadable 200")), last
    assert requests(shop, "/sheets/private.pdf") == 0

    command = [sys.executable, "-m", "aragog.cli", "content", f"{CDN}/l-1.png"]
    printed = subprocess.run(
        command, cwd=folder, env=environment(folder, shop), capture_output=True, check=True,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert printed.stdout == PNG
    output, _ = run(folder, shop, f"aragog show {CDN}/l-1.png --json")
    facts = json.loads(output)["facts"]
    assert facts["sha256"] == hashlib.sha256(PNG).hexdigest()
    assert (facts["content_type"], facts["bytes"]) == ("image/png", len(PNG))


def test_repeated_run_fetches_new_files_only(folder, shop):
    run(folder, shop, RUN)
    shop.handlers["//shop.test/sheets/gone.pdf"] = as_type("application/pdf", PDF + b"2")

    run(folder, shop, RUN)

    assert items(folder)["L-1"]["sheets.file"][1]["bytes"] == len(PDF) + 1
    assert requests(shop, "/l-1.png") == requests(shop, "/l-2.webp") == 1
    assert requests(shop, "/c/lamps") == 1


def test_repeated_run_completes_a_killed_one(folder, shop):
    process = started(folder, shop, RUN)
    wait_until(lambda: requests(shop, "/c/lamps"), LIMIT_S)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)

    _, errors = run(folder, shop, RUN)

    assert items(folder)["L-1"]["image.file"] == stored(f"{CDN}/l-1.png", PNG, "image/png")
    assert "; 3 of 6 files (" in errors.splitlines()[-1]


def test_taken_down_file_leaves_its_item_and_others_are_exported_by_hash(folder, shop):
    run(folder, shop, RUN)
    run(folder, shop, f"aragog store takedown {CDN}/l-1.png --yes")

    for _ in range(2):
        run(folder, shop, EXPORT)
    run(folder, shop, "aragog store export items.csv --items lamps")

    names = {path.name for path in (folder / "downloads").iterdir()}
    assert names == {
        f"{hashlib.sha256(WEBP).hexdigest()}.webp", f"{hashlib.sha256(PDF).hexdigest()}.pdf",
    }  # fmt: skip
    text = (folder / "items.csv").read_text()
    assert hashlib.sha256(WEBP).hexdigest() in text
    assert hashlib.sha256(PNG).hexdigest() not in text
