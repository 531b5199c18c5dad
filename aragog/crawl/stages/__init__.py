"""
The stages of the crawl, with one module per stage, and the decisions that stages make.

A task calls one stage. The messages between stages and the counters are in `aragog.crawl.pipeline`,
which does not depend on the stages.

    enqueue, enqueue_options    new URLs: normalize, check and send them to `fetch`; their options
        inside the pipeline (in the API: `api.operations.enqueue_options`)
    inherited_options           the options that links and sitemap entries inherit from their page
    fetch, requester            sends a batch of requests, each in its slot
    access_rules, access        which URLs may be requested at all, and which of them right now
    polite_gate                 robots rules and slots of a URL and of its redirects
    returning_jobs              when a job is sent again after a Retry-After or a failure
    first_visit_delays          delays for new URLs of a domain that has a backlog
    waiting_line, release       URLs that wait for slots of their domain
    robots, robots_outcomes     fetches robots.txt, and interprets the response
    revalidation, not_modified  conditional requests, and pages confirmed by a 304
    canonicalize, page_analysis analyzes pages: canonical URL, links, fields
    discovery, link_budgets     enqueues links
    sitemap_reading, listings   enqueues entries of sitemaps, feeds and listings
    render, rendering_rule      pages that need a browser
    store, page_updates         writes pages
    refresh, reextract          fetches pages again, or extracts stored pages again
    watch, webhooks             watched URLs, and deliveries of changes
    crawl_control, crawl_*      crawls: start, pause, cancel, rounds, notices, reports
    sign_in, job_egress         sign-in forms, and the egress route of a request
    process_stages              all stages of one process
"""
