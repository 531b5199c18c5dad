"""
Spans of OpenTelemetry: the context that travels, the port, and its adapter.

Public:

    tracer   the tracer of this process
    context  `traceparent`, as it travels
"""
