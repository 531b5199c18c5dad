from pathlib import Path
from urllib.parse import urlsplit

import scrapy


class Hosts(scrapy.Spider):
    name = "hosts"
    start_urls = Path("urls.txt").read_text().split()
    allowed_domains = [urlsplit(url).hostname for url in start_urls]
    custom_settings = {
        "USER_AGENT": "examplebot/1.0 (+https://example.com/bot)",
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 1 / 20,
        "CONCURRENT_REQUESTS": 100,
        "DEPTH_LIMIT": 1,
    }

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")
