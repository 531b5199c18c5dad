"""A spider with itemloaders; with the pipelines of media, its items have an image and a file."""

import scrapy
from itemloaders.processors import MapCompose, TakeFirst
from scrapy.loader import ItemLoader


class Author(scrapy.Item):
    url = scrapy.Field()
    name = scrapy.Field()
    image_urls = scrapy.Field()
    images = scrapy.Field()
    file_urls = scrapy.Field()
    files = scrapy.Field()


class AuthorLoader(ItemLoader):
    default_item_class = Author
    default_output_processor = TakeFirst()
    name_in = MapCompose(str.strip)
    image_urls_out = file_urls_out = list


class LoaderSpider(scrapy.Spider):
    name = "loader"
    start_urls = ["http://quotes.toscrape.com/"]

    def parse(self, response):
        yield from response.follow_all(css=".author + a", callback=self.parse_author)

    def parse_author(self, response):
        loader = AuthorLoader(response=response)
        loader.add_value("url", response.url)
        loader.add_css("name", "h3.author-title::text")
        loader.add_value("image_urls", response.urljoin("/logo.png"))
        loader.add_value("file_urls", response.urljoin("/notes.bin"))
        yield loader.load_item()
