"""
Politeness: rate limits per domain, and robots.txt rules per origin.

Public:

    limiter         slots, permits and pauses (Retry-After) of all domains, on Redis servers
    limiter_ring    adds, drains and removes the limiter's servers
    rates           the interval of a domain, from its rate and its Crawl-delay
    slots           inputs and results of the limiter
    permits         send permits
    lines           requests that wait for a slot of their domain
    open_hosts      limits how many hosts a crawl fetches at the same time
    overrides       rates and stops of individual domains, set by an operator
    live_overrides  overrides set while the system runs
    quiet_hours     hours without requests
    blocked_hosts   hosts that are never requested
    host_names      host names in settings
    robots_rules    which URLs robots.txt allows
    robots_cache    rules by origin, in Redis and in memory (`robots_memory`)
    robots_records  the cached record of an origin
    robots_engines  the parsers of robots.txt
    second_opinion  compares a sample of robots.txt files with reppy
    tdm_file        /.well-known/tdmrep.json
    shared_clock    the time of a server
"""
