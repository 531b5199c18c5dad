"""
The crawler's HTTP client. It requests a URL politely, follows redirects, and returns an outcome.

Public:

    fetcher        `Fetcher`: fetches one URL
    attempt        one fetch: sends requests and interprets responses
    gate           the interface that admits URLs and grants permits to send
    ssrf           decides which URLs and addresses may be requested
    dns            resolves names, with a time limit and a cache
    user_agent     the User-Agent header
    headers        dates, Retry-After, freshness
    cookies        cookies for one fetch, or for a session with an origin
    content_types  decides whether a body is a page
    body_limits    reads bodies within size limits
    http2_hosts    decides which hosts are offered HTTP/2
    recorded       reads responses from recordings
    faults         exceptions that end a fetch early
    adapter        connections to addresses that the SSRF filter allows
"""
