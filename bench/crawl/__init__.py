"""The measuring stick: the same pages crawled by aragog and by Scrapy, interleaved in one run."""
