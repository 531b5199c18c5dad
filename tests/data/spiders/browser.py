"""A spider of scrapy-playwright: pages in a browser, one of them disallowed by robots.txt."""

import scrapy


class BrowserSpider(scrapy.Spider):
    name = "browser"

    async def start(self):
        for path in ("/", "/login"):
            yield scrapy.Request(self.settings["START"] + path, meta={"playwright": True})

    def parse(self, response):
        yield {"url": response.url, "name": response.css(".made").get()}
