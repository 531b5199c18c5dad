"""Celery's settings, where Celery projects keep them; their text is `aragog/celeryconfig.py`."""

from aragog.celeryconfig import *  # noqa: F403 - Celery reads a module's names
