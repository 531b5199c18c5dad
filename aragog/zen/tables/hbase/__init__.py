"""Cell tables on HBase, through its Thrift 1 gateways."""

from aragog.zen.tables.hbase.tables import HBaseTables

__all__ = ["HBaseTables"]
