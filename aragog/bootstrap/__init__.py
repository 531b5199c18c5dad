"""
Build connected services from settings. Only this package imports all adapters.

Each module imports the adapters for one kind of process, so that a producer, for example, imports
no parser.
"""
