"""
Everything that happens to a URL, from the permission to request it to the handling of its response.

Public:

    stages        the steps between queues, one file each: enqueue, fetch, robots, render,
                  canonicalize, store
    pipeline      carries URLs between the steps: messages, queues, spool, in-flight set, crawl log
    politeness    whether and when a page may be requested: rates, permits, robots.txt
    fetcher       fetches one URL politely and returns an outcome
    traps         recognizes URL templates that yield nothing new, and limits requests to them
    rendering     renders pages that need JavaScript
    egress        egress routes: which one a request uses, and which ones work
    sign_in       sign-in forms and sessions, for your own sites
    identity      the crawler's keys and signatures
    shared_redis  state that processes share in Redis: servers, leases
"""
