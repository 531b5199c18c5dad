"""
Basics that every process needs.

Public:

    allocator      how much freed memory malloc keeps
    clock          reading the time and sleeping
    extras         which optional dependencies are installed
    hosts          names by which a local server may be reached
    green_threads  many network waits in one thread
    open_files     the limit of open files
    secret         values that are never logged
    socket_paths   names for unix sockets that are short enough
    short_names    `tasks` and `workers` of a checkout
    moved_names    module names of the previous release
"""
