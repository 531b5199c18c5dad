"""
Crawls URLs, from the permission to send a request to the handling of the response.

Public:

    stages        the steps between queues, one file each: enqueue, fetch, robots, render,
                  canonicalize, store
    pipeline      carries URLs between the steps: messages, queues, spool, in-flight set, crawl log
    politeness    decides whether and when to request a page: rates, permits, robots.txt
    fetcher       fetches one URL politely and returns an outcome
    traps         recognizes URL templates that yield nothing new, and limits requests to them
    rendering     renders pages that need JavaScript
    egress        chooses each request's route: a proxy or a local address
    sign_in       sign-in forms and sessions, for your own sites
    identity      the crawler's keys and signatures
    shared_redis  state that processes share in Redis: servers, leases
"""
