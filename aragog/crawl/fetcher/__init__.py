"""
The crawler's HTTP client. It politely sends one GET request per URL and returns an outcome.

Public:

    fetcher        `Fetcher`: fetches one URL
    attempt        one fetch: its requests, and how it interprets responses such as 304, 429 and 503
    gate           the interface for admission and permits
    ssrf           the filter of URLs and addresses
    dns            name resolution with a time limit and a cache
    user_agent     the User-Agent header
    headers        dates, Retry-After, freshness
    cookies        cookies of a fetch, or of a session with an origin
    content_types  decides whether a body is a page
    body_limits    size limits of a body
    http2_hosts    hosts to which HTTP/2 is offered
    recorded       reads responses from recordings
    faults         exceptions that end a fetch early
    adapter        connections to addresses that the SSRF filter allows
"""
