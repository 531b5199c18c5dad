"""
OpenTelemetry spans: the interface, its implementation, and the context that messages carry.

Public:

    tracer   the tracer of this process
    context  `traceparent`, which messages carry
"""
