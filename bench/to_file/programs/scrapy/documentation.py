from pathlib import Path
from urllib.parse import urlsplit

import scrapy
import trafilatura


class Documentation(scrapy.Spider):
    name = "documentation"
    start_urls = Path("urls.txt").read_text().split()
    allowed_domains = [urlsplit(url).hostname for url in start_urls]
    custom_settings = {
        "USER_AGENT": "examplebot/1.0 (+https://example.com/bot)",
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 1 / 20,
    }

    def parse(self, response):
        text = trafilatura.extract(response.text, url=response.url, output_format="markdown")
        yield {"url": response.url, "markdown": text}
        yield from response.follow_all(css="a")
