"""`--quick`: a measurement in a few seconds, which shows that it runs and measures nothing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def add_quick(parser: argparse.ArgumentParser, **values: Any) -> None:
    """Give a measurement the option `--quick`, which sets other options to `values`."""

    class Quick(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            given: str | Sequence[Any] | None,
            option: str | None = None,
        ) -> None:
            parser.set_defaults(**values)  # of positional arguments, which are read last
            vars(namespace).update(values, quick=True)

    parser.add_argument(
        "--quick", action=Quick, nargs=0, default=False, help="seconds: whether it runs at all"
    )
