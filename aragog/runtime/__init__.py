"""
Basic modules that every process needs.

Public:

    allocator      limits on the freed memory that malloc keeps
    clock          reading the time and sleeping
    environment    values of environment variables
    extras         checks for optional dependencies
    hosts          checks of Host headers and local addresses
    green_threads  many network waits in one thread
    open_files     the limit on open files
    secret         strings that are never printed or logged
    socket_paths   short paths for Unix sockets
    short_names    imports of `tasks` and `workers` in a checkout
    moved_names    imports by the module names of the previous release
"""
