"""Entry point of `python -m aragog.cli`, in case the `aragog` script is not on the PATH."""

from __future__ import annotations

from aragog.cli import main

main()
