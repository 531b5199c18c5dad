"""Cell tables on HBase, through its Thrift 1 gateways."""

from zengraph.tables.hbase.tables import HBaseTables

__all__ = ["HBaseTables"]
