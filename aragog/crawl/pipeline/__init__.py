"""
What carries a URL on its way to the store: messages, queues, the spool and the in-flight set.

Also what is counted and recorded on the way: counters, outcomes, outages and the crawl log. The
work of each step is in `aragog.crawl.stages`.
"""
