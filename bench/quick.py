"""The option `--quick`: a run of a few seconds that only shows that the measurement works."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def add_quick(parser: argparse.ArgumentParser, **values: Any) -> None:
    """Add the option `--quick` to a measurement. It sets other options to `values`."""

    class Quick(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            given: str | Sequence[Any] | None,
            option: str | None = None,
        ) -> None:
            parser.set_defaults(**values)  # for positional arguments, which are read last
            vars(namespace).update(values, quick=True)

    parser.add_argument(
        "--quick",
        action=Quick,
        nargs=0,
        default=False,
        help="a run of seconds that only shows that the measurement works",
    )
