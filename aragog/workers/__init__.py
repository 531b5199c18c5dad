"""The Celery app, the roles of its workers, and the services of a worker process."""
