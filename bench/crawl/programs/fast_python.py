"""
The work of `scrapy_spider.py` in little Python around fast libraries; runs in .venv-bench.

aiohttp on uvloop, selectolax (lexbor), ada-url, orjson. It obeys robots.txt, reads title, canonical
URL and all distinct absolute links, and writes the gzipped body and one JSON line per page: `python
fast_python.py URLS_FILE PORT FOLDER`. Prints one JSON line: pages, seconds and CPU seconds from the
first request until the last page is written. It shows the cost of a Python crawler without a queue,
a shared limiter or a store.
"""

import asyncio
import gzip
import hashlib
import json
import resource
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import ada_url
import aiohttp
import orjson
import uvloop
from aiohttp.abc import AbstractResolver
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

AGENT = "bench (+http://127.0.0.1/)"
CONCURRENCY = 64

urls_file, port, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])


class LoopbackResolver(AbstractResolver):
    """Resolves every name to this machine."""

    async def resolve(self, host, port=0, family=socket.AF_INET):
        address = {"hostname": host, "host": "127.0.0.1", "port": port, "family": socket.AF_INET}
        return [address | {"proto": 0, "flags": socket.AI_NUMERICHOST}]

    async def close(self):
        pass


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Crawler:
    """One session, the rules of each origin, and the output files."""

    def __init__(self, session, out):
        self.session = session
        self.out = out
        self.rules = {}
        self.pages = 0

    async def read_rules(self, origin):
        async with self.session.get(f"{origin}/robots.txt") as response:
            return Protego.parse(await response.text() if response.status == 200 else "")

    async def is_allowed(self, url):
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self.rules:
            self.rules[origin] = asyncio.ensure_future(self.read_rules(origin))
        return (await self.rules[origin]).can_fetch(url, AGENT)

    async def crawl(self, url):
        if not await self.is_allowed(url):
            return
        async with self.session.get(url) as response:
            body = await response.read()
        if response.status == 200:
            self.store(url, str(response.url), body)

    def store(self, url, final_url, body):
        tree = LexborHTMLParser(body)
        base = tree.css_first("base[href]")
        base_url = absolute(base.attributes.get("href") or "", final_url) if base else final_url
        hrefs = (node.attributes.get("href") for node in tree.css("a[href]"))
        targets = (absolute(href or "", base_url or final_url) for href in hrefs)
        title, canonical = tree.css_first("title"), tree.css_first("link[rel=canonical]")
        page = {
            "url": url,
            "title": title.text() if title else None,
            "canonical": canonical.attributes.get("href") if canonical else None,
            "links": [target for target in dict.fromkeys(targets) if target],
        }
        key = hashlib.sha256(url.encode()).hexdigest()
        (folder / f"{key}.gz").write_bytes(gzip.compress(body, 6))
        self.out.write(orjson.dumps(page, option=orjson.OPT_APPEND_NEWLINE))
        self.pages += 1


def absolute(href, base):
    """Return the absolute URL of a link, or an empty string."""
    try:
        return ada_url.join_url(base, href)
    except ValueError:
        return ""


async def work(crawler, urls):
    for url in urls:
        await crawler.crawl(url)


async def main():
    urls = iter(urls_file_lines())
    connector = aiohttp.TCPConnector(limit=512, resolver=LoopbackResolver(), keepalive_timeout=60)
    headers = {"User-Agent": AGENT}
    with (folder / "pages.jsonl").open("wb") as out:
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
            crawler = Crawler(session, out)
            started, cpu = time.monotonic(), cpu_s()
            await asyncio.gather(*(work(crawler, urls) for _ in range(CONCURRENCY)))
            out.flush()
            costs = {"seconds": time.monotonic() - started, "cpu_s": cpu_s() - cpu}
    print(json.dumps({"pages": crawler.pages, **costs}))


def urls_file_lines():
    return Path(urls_file).read_text().split()


uvloop.run(main())
