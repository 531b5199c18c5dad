"""
Build connected services from settings. Only this package knows every adapter.

Each module imports the adapters of one kind of process, so `aragog show` imports only the
store, and a producer no parser.
"""
