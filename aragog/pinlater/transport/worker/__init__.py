"""
Extensions of Celery's workers: `follow(app)` makes them record in each job how its task ended.

Its other modules keep messages that no task can be made of, and show tasks that wait on the server.
"""

from aragog.pinlater.transport.worker.requests import RunLater, follow

__all__ = ["RunLater", "follow"]
