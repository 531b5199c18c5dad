"""
The messages, queues, spool and in-flight set through which a URL reaches the store.

Also the counters, outcomes, outages and the crawl log, which record what happens to a URL. The work
of each step is in `aragog.crawl.stages`.
"""
