"""
Politeness: rate limits per domain, and robots.txt rules per origin.

Public:

    limiter         slots (times to send), permits and pauses of all domains, in Redis
    limiter_ring    adds, drains and removes the limiter's servers
    rates           the interval between requests to a domain
    slots           the limiter's inputs and results
    permits         one sender per domain at a time
    lines           queues of requests waiting for slots
    open_hosts      limits how many hosts a crawl fetches at the same time
    overrides       the operator's rates and stops for individual domains
    live_overrides  overrides set while the crawler runs
    quiet_hours     hours without requests
    blocked_hosts   hosts that are never requested
    host_names      host names in settings
    robots_rules    which URLs robots.txt allows
    robots_cache    rules by origin, in Redis and in memory (`robots_memory`)
    robots_records  an origin's cached record
    robots_engines  robots.txt matchers: built-in, and reppy
    second_opinion  compares a sample of robots.txt files with reppy
    tdm_file        reads /.well-known/tdmrep.json
    shared_clock    a server's time, for all machines
"""
