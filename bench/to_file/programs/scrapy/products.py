from pathlib import Path

import scrapy


class Products(scrapy.Spider):
    name = "products"
    start_urls = Path("urls.txt").read_text().split()
    custom_settings = {
        "USER_AGENT": "examplebot/1.0 (+https://example.com/bot)",
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 1 / 20,
    }

    def parse(self, response):
        yield {
            "url": response.url,
            "name": response.css("h1.product-title::text").get(),
            "price": float(response.css(".price::text").re_first(r"[\d.]+")),
            "sku": response.css(".sku::text").get(),
            "stock": response.css(".stock::text").get(),
            "image": response.urljoin(response.css("img.product::attr(src)").get()),
        }
