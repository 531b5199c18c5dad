"""
Carries URLs between the stages: messages, queues, spool (bodies in Redis) and in-flight set.

Counters, outcomes, outages and the crawl log record what happens to URLs. The stages themselves are
in `aragog.crawl.stages`.
"""
