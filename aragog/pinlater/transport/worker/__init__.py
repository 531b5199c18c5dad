"""
Extensions of Celery's workers: `at_least_once(app)` makes a killed worker's jobs run again, and
`follow(app)` records in each job how its task ended.

Its other modules keep messages that no task can be made of, and show tasks that wait on the server.
"""

from aragog.pinlater.transport.worker.requests import RunLater, at_least_once, follow

__all__ = ["RunLater", "at_least_once", "follow"]
