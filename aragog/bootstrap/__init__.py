"""
Build connected services from settings. Only this package knows every adapter.

Each module imports the adapters of one kind of process, so that `aragog show` imports the store
alone and a producer no parser.
"""
