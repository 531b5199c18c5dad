"""Celery tasks, a few lines each over aragog.pipeline."""
