"""
Build connected services from settings. Only this package imports all adapters.

Each module imports the adapters for one kind of process, so `aragog show` imports only the store,
and a producer imports no parser.
"""
