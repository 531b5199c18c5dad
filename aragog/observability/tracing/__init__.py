"""
OpenTelemetry spans: the interface, its implementation, and the context that messages carry.

Public:

    tracer   this process's tracer
    context  the `traceparent` in messages
"""
