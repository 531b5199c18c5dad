"""
What a URL travels in on its way to the store: messages, queues, the spool and the in-flight set.

Also what is counted and recorded of its way: counters, outcomes, outages and the crawl log. What is
done at each step is in `aragog.crawl.stages`.
"""
