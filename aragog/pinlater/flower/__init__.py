"""
Flower on a pinlater broker: its queues on the Broker page, and the pages Queues and Jobs.

An application's module calls `install.install()` before Flower starts. Only Flower's process
imports the other modules.
"""
