"""`python -m aragog.cli`, where the `aragog` script is not on the path."""

from __future__ import annotations

from aragog.cli import main

main()
