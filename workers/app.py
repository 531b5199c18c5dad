"""`celery -A workers.app …` in a source checkout: the app of `aragog.workers.app`."""

from aragog.workers.app import app

__all__ = ["app"]
