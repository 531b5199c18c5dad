"""The Celery tasks: a few lines each, which call aragog.pipeline."""
