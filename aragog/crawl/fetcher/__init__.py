"""
The HTTP client of the crawler: one polite GET per URL, returned as an outcome.

Public:

    fetcher        `Fetcher`: fetch one URL
    attempt        one fetch: its requests, and what responses mean, such as 304, 429 and 503
    gate           how a fetch asks for admission and for permits
    ssrf           the filter of URLs and addresses
    dns            resolution with a time limit and a cache
    user_agent     the User-Agent header
    headers        dates, Retry-After, freshness
    cookies        cookies of a fetch, or of an origin's session
    content_types  decides whether a body is a page
    body_limits    size limits of a body
    http2_hosts    hosts to which HTTP/2 is offered
    recorded       responses from a recording
    faults         exceptions that end a fetch early
    adapter        connections for requests, only to addresses that the SSRF filter accepted
"""
