"""The aragog pages in Flower. Only Flower's process imports this module (aragog/workers/app.py)."""

from __future__ import annotations

from aragog.bootstrap.dashboard import components
from aragog.dashboard import flower
from aragog.settings import load_settings


def install() -> None:
    """Add the pages to Flower; call this before Flower starts."""
    settings = load_settings()
    serving = settings.serving
    flower.install(
        components(settings), (*serving.allowed_hosts, serving.flower_host), serving.flower_host
    )
