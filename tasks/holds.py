"""Hold and release URLs. Safe to run twice and in any order: see aragog.pipeline.holding."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.holding import HoldBundle, apply_holds
from aragog.pipeline.sending import HOLDS
from tasks.policy import stage
from workers.services import services


@stage(HOLDS)
def holds(message: dict[str, Any]) -> None:
    """Note who holds the URLs of the bundle, or no longer does."""
    apply_holds(HoldBundle.read(message), services())
