"""Spans of OpenTelemetry: the context that travels, the port, and its adapter."""
