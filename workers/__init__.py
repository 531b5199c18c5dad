"""The Celery app, what each kind of worker runs, and its services."""
