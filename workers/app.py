"""
The Celery app: `celery -A workers.app worker -Q fetch`, as with any Celery project.

Settings come from aragog.toml and the environment (docs/settings.md), Celery's own from
celeryconfig.py.
"""

from __future__ import annotations

import sys

from celery import Celery

from aragog.pinlater.worker import follow

app = Celery("aragog")
app.config_from_object("celeryconfig")
# On pinlater a job then ends as its task did: without it, a task that raises would be SUCCEEDED.
follow(app)

# `celery -A workers.app flower`: the app is imported before Flower builds its pages.
if "flower" in sys.argv:
    from workers import dashboard

    dashboard.install()
