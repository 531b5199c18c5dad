"""
What aragog reports of itself.

Public:

    logs             lines of text or JSON, and those about single URLs
    instruments      every duration and count of this process that hot paths record
    metric_families  the same for Prometheus
    tracing          spans of OpenTelemetry
"""
