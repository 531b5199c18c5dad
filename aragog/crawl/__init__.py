"""
Everything that happens to a URL, from the permission to request it to what follows from the
response.

Public:

    stages        one file per step between two queues: enqueue, fetch, robots, render,
                  canonicalize, store
    pipeline      what carries a URL: messages, queues, spool, in-flight set, crawl log
    politeness    whether and when a page may be requested: rates, permits, robots.txt
    fetcher       fetches one URL politely and returns an outcome
    traps         URL templates that yield nothing new, and the budgets of the others
    rendering     pages that need JavaScript
    egress        egress routes: which one a request uses, and which ones work
    sign_in       sign-in forms and sessions of your own sites
    identity      the crawler's keys and signatures
    shared_redis  state that processes share in Redis: servers, leases
"""
