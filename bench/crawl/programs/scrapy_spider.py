"""
A Scrapy spider that does the same work as aragog; runs in .venv-bench.

It obeys robots.txt, reads title, canonical URL and all links through canonicalize_url, and writes
the gzipped body and one JSON line per page: `python scrapy_spider.py URLS_FILE PORT FOLDER`. Prints
one JSON line: pages, seconds and CPU seconds from the engine's start to the spider's close.
"""

import gzip
import hashlib
import json
import resource
import sys
import time
from pathlib import Path

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer
from w3lib.url import canonicalize_url

urls_file, port, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])


class LoopbackResolver(CachingThreadedResolver):
    """Resolves every name to this machine."""

    def getHostByName(self, name, timeout=()):
        return defer.succeed("127.0.0.1")


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Spider(scrapy.Spider):
    name = "bench"
    pages = 0

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.opened, signals.engine_started)
        crawler.signals.connect(spider.closed_, signals.spider_closed)
        return spider

    def opened(self):
        self.started = time.monotonic(), cpu_s()
        self.out = (folder / "pages.jsonl").open("w")

    async def start(self):
        for url in Path(urls_file).read_text().split():
            yield scrapy.Request(url)

    def parse(self, response):
        links = [
            canonicalize_url(response.urljoin(h)) for h in response.css("a::attr(href)").getall()
        ]
        key = hashlib.sha256(canonicalize_url(response.url).encode()).hexdigest()
        (folder / f"{key}.gz").write_bytes(gzip.compress(response.body, 6))
        self.out.write(
            json.dumps(
                {
                    "url": canonicalize_url(response.url),
                    "title": response.css("title::text").get(),
                    "canonical": response.css("link[rel=canonical]::attr(href)").get(),
                    "links": links,
                }
            )
            + "\n"
        )
        self.pages += 1

    def closed_(self):
        self.out.close()
        seconds, cpu = time.monotonic() - self.started[0], cpu_s() - self.started[1]
        print(json.dumps({"pages": self.pages, "seconds": seconds, "cpu_s": cpu}))


process = CrawlerProcess(
    {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "DNS_RESOLVER": LoopbackResolver,
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "USER_AGENT": "bench (+http://127.0.0.1/)",
    }
)
process.crawl(Spider)
process.start()
