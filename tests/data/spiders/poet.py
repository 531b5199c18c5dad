"""A spider of scrapy-poet, whose callback asks for a page object of web-poet."""

import attrs
import scrapy
from scrapy_poet import DummyResponse
from web_poet import WebPage, field, handle_urls


@attrs.define
class Person:
    url: str
    name: str


@handle_urls("quotes.toscrape.com")
class AuthorPage(WebPage[Person]):
    """A page object of web-poet."""

    @field
    def url(self) -> str:
        return str(self.response.url)

    @field
    def name(self) -> str:
        return self.css("h3.author-title::text").get().strip()


class PoetSpider(scrapy.Spider):
    name = "poet"
    start_urls = ["http://quotes.toscrape.com/"]

    def parse(self, response):
        yield from response.follow_all(css=".author + a", callback=self.parse_author)

    async def parse_author(self, response: DummyResponse, page: AuthorPage):
        yield await page.to_item()
