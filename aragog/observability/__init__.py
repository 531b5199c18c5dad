"""
What aragog reports of itself, and how figures are written for people.

Public:

    logs               lines of text or JSON, and those about single URLs
    instruments        every duration and count of this process that hot paths record
    prometheus_export  the same for Prometheus
    tracing            spans of OpenTelemetry
    formatting         numbers, instants, distances and durations as people read them

Metrics of queues, domains and the store are defined in `aragog.dashboard.scraped_metrics`, which
reads them at scrape time, and those of the API beside its servers: `aragog.api.server.hedging`,
`http.observed` and `thrift.metrics`.
"""
