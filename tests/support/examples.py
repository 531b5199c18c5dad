"""The number of examples that hypothesis draws for tests that need more or fewer than usual."""

from __future__ import annotations

from aragog.testing import DEFAULT_EXAMPLES, examples

__all__ = ["DEFAULT_EXAMPLES", "examples"]
