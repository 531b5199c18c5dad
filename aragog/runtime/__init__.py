"""
What every process stands on.

Public:

    allocator      what malloc keeps of freed memory
    clock          the time, as an argument
    extras         which extras are installed
    hosts          names under which a local server may be asked
    green_threads  many waits for the network in one thread
    open_files     the limit of open files
    secret         values that no log shows
    socket_paths   names of unix sockets that are short enough
    short_names    `tasks` and `workers` of a checkout
    moved_names    names of modules in the release before
"""
