"""Cell tables on HBase, through its Thrift 1 gateways."""

try:
    from zengraph.tables.hbase.tables import HBaseTables, shell_commands
except ModuleNotFoundError as error:
    if error.name not in {"happybase", "thriftpy2"}:
        raise
    raise ModuleNotFoundError(
        f"{error.name} is not installed: pip install 'zengraph[hbase]'", name=error.name
    ) from None

__all__ = ["HBaseTables", "shell_commands"]
