"""
OpenTelemetry spans: the interface, its implementation, and the context in messages.

Public:

    tracer   this process's tracer
    context  the `traceparent` in messages
"""
