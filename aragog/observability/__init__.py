"""
aragog's logs, metrics and traces, and functions that format numbers for display.

Public:

    logs               lines of text or JSON, including lines about individual URLs
    instruments        the durations and counts that hot paths of this process record
    prometheus_export  the instruments as Prometheus metrics
    tracing            OpenTelemetry spans
    formatting         numbers, times and durations as display text

`aragog.dashboard.scraped_metrics` defines the metrics for queues, domains and the store. The API's
metrics are defined next to its servers, in `aragog.api.server.hedging`, `http.observed` and
`thrift.metrics`.
"""
