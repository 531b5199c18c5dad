"""
What aragog reports about itself, and how numbers are formatted for people.

Public:

    logs               lines of text or JSON, including lines about single URLs
    instruments        every duration and count of this process that hot paths record
    prometheus_export  the same for Prometheus
    tracing            OpenTelemetry spans
    formatting         numbers, times, distances and durations as people read them

Metrics of queues, domains and the store are defined in `aragog.dashboard.scraped_metrics`, which
reads them at scrape time. Metrics of the API are defined next to its servers:
`aragog.api.server.hedging`, `http.observed` and `thrift.metrics`.
"""
