"""
Components for Scrapy: spiders whose processes share their requests and this cluster's politeness.

It needs the extra `scrapy`; nothing else of aragog imports it. docs/coming-from.md is the guide.

    addon.py             one line in a project's settings puts all the others in place
    scheduler.py         `SCHEDULER`: requests are jobs of pinlater; a job ends with its callback
    dupefilter.py        `DUPEFILTER_CLASS`: shared by all processes of a crawl
    download_handler.py  `DOWNLOAD_HANDLERS`: robots.txt, slot, permit, SSRF filter, byte caps
    item_pipeline.py     `ITEM_PIPELINES`: items as fields of the page of their URL
    stored_pages.py      `HTTPCACHE_STORAGE`: pages that aragog has fetched

The parts:

    crawl.py             what the components of one crawler share
    crawl_state.py       what its processes share in Redis; the scripts are in lua/
    membership.py        joins a crawl, or refuses to; leaves it
    prerequisites.py     what must hold before a spider opens
    spider_arguments.py  what a spider was created with: processes of a crawl have the same
    request_codec.py     requests as JSON
    arrivals.py          what requests of other processes may ask of Scrapy's own downloader
    request_queue.py     jobs and claims
    slot_lines.py        claimed requests that wait for a slot of their domain
    feeder.py            the thread that claims requests and finds their slots
    unsupported.py       requests that the fetcher cannot send
    unused_settings.py   warnings about settings of Scrapy and values of requests that are not used
    responses.py         an outcome as a response or an exception of Scrapy
    engine.py            what is used of Scrapy's engine beyond its public interface
"""
