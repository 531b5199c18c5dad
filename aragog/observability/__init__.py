"""
Logs, metrics and traces of aragog, and how it formats numbers for people.

Public:

  logs               lines of text or JSON, including lines about single URLs
  instruments        the durations and counts that hot paths of this process record
  prometheus_export  the same for Prometheus
  tracing            OpenTelemetry spans
  formatting         numbers, times, distances and durations for people

Metrics of queues, domains and the store are defined in `aragog.dashboard.scraped_metrics`, which
reads them at scrape time. Metrics of the API are defined next to its servers:
`aragog.api.server.hedging`, `http.observed` and `thrift.metrics`.
"""
