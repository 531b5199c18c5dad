"""
The messages, queues, spool and in-flight set through which a URL reaches the store.

The package also contains the counters, outcomes, outages and crawl log, which record what happens
to URLs. The code of each step is in `aragog.crawl.stages`.
"""
