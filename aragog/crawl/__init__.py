"""
Everything that happens to a URL: permission, the request, the response and what follows from it.

Public:

  stages      one file per step between two queues: enqueue, fetch, robots, render, canonicalize,
              store
  pipeline    what carries a URL: messages, queues, spool, in-flight set, crawl log
  politeness  whether and when a site may be requested: rates, lines, permits, robots.txt, overrides
  fetcher     fetches one URL politely and returns an outcome
  traps       URL templates that yield nothing new, and the budgets of the others
  rendering   pages that need JavaScript
  egress      egress routes: which one a request uses, and which ones work
  sign_in     sign-in forms and sessions of your own sites
"""
