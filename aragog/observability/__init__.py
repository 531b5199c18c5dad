"""
aragog's logs, metrics and traces, and functions that format numbers for display.

Public:

    logs               lines of text or JSON, including lines about individual URLs
    instruments        the durations and counts that hot paths of this process record
    prometheus_export  the instruments as Prometheus metrics
    tracing            OpenTelemetry spans
    formatting         numbers, times and durations as display text

Metrics of queues, domains and the store are defined in `aragog.dashboard.scraped_metrics`, which
reads them at scrape time. Metrics of the API are defined next to its servers:
`aragog.api.server.hedging`, `http.observed` and `thrift.metrics`.
"""
