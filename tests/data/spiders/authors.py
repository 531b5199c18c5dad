"""A spider of the kind that Scrapy's tutorial ends with: it follows authors and pages."""

import scrapy


class AuthorSpider(scrapy.Spider):
    name = "authors"
    start_urls = ["http://quotes.toscrape.com/"]

    def parse(self, response):
        yield from response.follow_all(css=".author + a", callback=self.parse_author)
        yield from response.follow_all(css="li.next a", callback=self.parse)

    def parse_author(self, response):
        yield {
            "url": response.url,
            "name": response.css("h3.author-title::text").get().strip(),
            "born": response.css(".author-born-date::text").get(),
        }
