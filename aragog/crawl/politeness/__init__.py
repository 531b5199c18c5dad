"""
Politeness: rate limits per domain, and robots.txt rules per origin.

Public:

    limiter         slots, permits and pauses (Retry-After) of all domains, on their Redis servers
    limiter_ring    which server decides for which domain, and how that changes
    rates           the interval of a domain: its rate, Crawl-delay and the cap of that
    slots           inputs and results of the limiter
    permits         send permits
    lines           requests that wait for a slot of their domain
    open_hosts      the hosts that a crawl has open at once
    overrides       rates and stops of single domains, set by an operator
    live_overrides  the overrides set while the system runs
    quiet_hours     hours without requests
    blocked_hosts   hosts without requests
    host_names      names of hosts in settings
    robots_rules    which URLs robots.txt allows
    robots_cache    rules by origin, in Redis and in memory (`robots_memory`)
    robots_records  the cached record of an origin
    robots_engines  the parsers of robots.txt
    second_opinion  a sample of files that reppy parses as well
    tdm_file        /.well-known/tdmrep.json
    shared_clock    the time of a server
"""
