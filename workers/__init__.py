"""The Celery app under its short name in a source checkout; the code is in `aragog.workers`."""
