"""Cell tables on HBase, through its Thrift 1 gateways."""

from zengraph.tables.hbase.tables import HBaseTables, shell_commands

__all__ = ["HBaseTables", "shell_commands"]
