"""
The HTTP client of the crawler: one polite GET per URL, returned as an outcome.

Public:

    fetcher        `Fetcher`: fetch one URL
    attempt        one request, and what its response means: 304, 429 and 503 with Retry-After
    gate           how a fetch asks for admission and for permits
    ssrf           which URLs and addresses may be connected to
    dns            resolution with a time limit and a cache
    user_agent     the User-Agent header
    headers        dates, Retry-After, freshness
    cookies        the cookies of a fetch, and of the session of an origin
    content_types  whether a body is a page
    body_limits    how much of a body is read
    http2_hosts    hosts to which HTTP/2 is offered
    recorded       responses from a recording
    faults         why a fetch ended early
    adapter        connections to addresses that the SSRF filter accepted, for requests
"""
