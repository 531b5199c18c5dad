"""What Flower shows beyond Celery. Imported in Flower's process only: see workers/app.py."""

from __future__ import annotations

from aragog.bootstrap import parts
from aragog.dashboard import flower
from aragog.settings import load_settings


def install() -> None:
    """Before Flower starts."""
    flower.install(parts(load_settings()))
