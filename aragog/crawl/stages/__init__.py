"""
The stages of the crawl, and the decisions that stages make.

A task calls one stage. The messages between stages and the counters are in `aragog.crawl.pipeline`,
which does not depend on the stages.

    enqueue, enqueue_options    sends new URLs to `fetch`
    inherited_options           options that links and sitemap entries inherit from their page
    fetch, requester            sends a batch of requests, each in its slot (request time)
    access_rules, access        which URLs may be requested at all, and which now
    polite_gate                 robots rules and slots of a URL and its redirects
    returning_jobs              when a job is sent again
    first_visit_delays          delays new URLs of domains with a backlog
    waiting_line, release       URLs waiting for slots
    robots, robots_outcomes     fetches robots.txt, and interprets the response
    revalidation, not_modified  conditional requests, and 304 responses
    canonicalize, page_analysis pages' canonical URLs, links and fields
    discovery, link_budgets     enqueues links
    sitemap_reading, listings   enqueues entries of sitemaps, feeds and listings
    render, rendering_rule      pages that need a browser
    store, page_updates         writes pages
    refresh, reextract          fetches or extracts stored pages again
    watch, webhooks             watched URLs, and deliveries of changes
    crawl_control, crawl_*      crawls: start, pause, cancel, rounds, notices, reports
    sign_in, job_egress         sign-in forms, and requests' egress routes
    process_stages              all stages of one process
"""
