"""
A fleet on one machine: hosts that are network namespaces, restarted and cut off while they work.

`make fleet` runs it (docs/reliability.md).
"""
