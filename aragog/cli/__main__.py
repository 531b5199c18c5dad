"""Entry point of `python -m aragog.cli`, for when the `aragog` script is not on the path."""

from __future__ import annotations

from aragog.cli import main

main()
