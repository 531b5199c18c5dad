"""What Flower shows beyond Celery. Imported in Flower's process only: see workers/app.py."""

from __future__ import annotations

from aragog.bootstrap import components
from aragog.dashboard import flower
from aragog.settings import load_settings


def install() -> None:
    """Before Flower starts."""
    settings = load_settings()
    serving = settings.serving
    flower.install(
        components(settings), (*serving.allowed_hosts, serving.flower_host), serving.flower_host
    )
