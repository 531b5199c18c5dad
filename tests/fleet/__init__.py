"""
A fleet on one machine: its hosts are network namespaces, restarted and cut off while they work.

`make fleet` runs it (docs/reliability.md).
"""
