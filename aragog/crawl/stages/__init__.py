"""
What happens to a URL between two queues: one module for each stage, and how stages decide.

A task calls one stage. What travels between the stages, and its counts, are in
`aragog.crawl.pipeline`, which knows no stage.

    enqueue, enqueue_options    new URLs: normalized, checked, sent to `fetch`; their options
                                inside the pipeline (in the API: `api.operations.enqueue_options`)
    inherited_options           which options the links and sitemap entries of a URL inherit
    fetch, requester            a batch of requests, each at its slot
    access_rules, access        which URLs may be requested at all, and which of a batch right now
    polite_gate                 robots rules and slots of a URL, and of each redirect it follows
    returning_jobs              when a job comes back (its ETA), after Retry-After or a failure
    first_visit_delays          delays for new URLs of a domain that has a backlog
    waiting_line, release       URLs that wait for slots of their domain
    robots, robots_outcomes     robots.txt: fetched, and what the response means
    revalidation, not_modified  conditional requests, and pages that a 304 confirms
    canonicalize, page_analysis what a page is: canonical URL, links, fields
    discovery, link_budgets     links that are followed
    sitemap_reading, listings   what sitemaps, feeds and lists of items lead to
    render, rendering_rule      pages that need a browser
    store, page_updates         what is written
    refresh, reextract          pages that are fetched again, or read again from what is stored
    watch, webhooks             who wants to know about changes
    crawl_control, crawl_*      crawls: start, pause, cancel, rounds, notices, reports
    sign_in, job_egress         login forms, and the egress route of a request
    process_stages              the stages of one process, put together
"""
