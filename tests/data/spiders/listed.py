"""A spider that requests a list of URLs and reports as an item how each request ended."""

import scrapy


class ListedSpider(scrapy.Spider):
    name = "listed"

    async def start(self):
        for number in range(int(self.settings["PAGES"])):
            url = f"http://quotes.toscrape.com/author/Author-{number}"
            yield scrapy.Request(url, callback=self.page, errback=self.failed)

    def page(self, response):
        yield {"url": response.url}

    def failed(self, failure):
        yield {"url": failure.request.url, "failed": repr(failure.value)}
