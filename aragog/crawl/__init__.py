"""
What happens to a URL: who may ask for it, the request, what the answer means, what follows.

Public:

    stages      one file a step between two queues: enqueue, fetch, robots, render, canonicalize,
                store
    pipeline    what a URL travels in: messages, queues, spool, in-flight set, crawl log
    politeness  whether and when a site may be asked: rates, lines, permits, robots.txt, overrides
    fetcher     one polite GET: a URL in, an outcome out
    traps       templates of URLs that bring nothing, and the budgets of the others
    rendering   pages that need JavaScript
    egress      egress routes: which one a request takes, and which ones work
    sign_in     forms and sessions of sites of one's own
    shared_redis  what processes share in Redis
    identity    who the crawler is: its keys, signatures of its requests, what it publishes
"""
