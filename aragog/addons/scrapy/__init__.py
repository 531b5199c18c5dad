"""
Components for Scrapy: spider processes share their requests and aragog's limits per domain.

They need the extra `scrapy`. docs/coming-from.md is their guide.

    addon.py             enables all other components with one line in a project's settings
    scheduler.py         `SCHEDULER`: requests are pinlater jobs; a job ends with its callback
    dupefilter.py        `DUPEFILTER_CLASS`: shared by all processes of a crawl
    download_handler.py  `DOWNLOAD_HANDLERS`: robots.txt, slot, permit, SSRF filter, byte caps
    item_pipeline.py     `ITEM_PIPELINES`: items as fields of the page with the same URL
    stored_pages.py      `HTTPCACHE_STORAGE`: pages that aragog has fetched

The modules that they use:

    crawl.py             state shared by the components of one crawler
    crawl_state.py       state in Redis that a crawl's processes share; the scripts are in lua/
    membership.py        joins and leaves a crawl
    prerequisites.py     checks before a spider opens
    spider_arguments.py  the arguments of a spider, which a crawl's processes have in common
    request_codec.py     requests as JSON
    arrivals.py          checks requests from other processes for Scrapy's own downloader
    request_queue.py     requests as pinlater jobs
    slot_lines.py        claimed requests, each waiting for a slot of its domain
    feeder.py            the thread that claims requests and finds their slots
    unsupported.py       requests that the fetcher cannot send
    unused_settings.py   warnings about Scrapy settings and request values without effect
    responses.py         an outcome as a Scrapy response or exception
    engine.py            the private parts of Scrapy's engine that are used
"""
