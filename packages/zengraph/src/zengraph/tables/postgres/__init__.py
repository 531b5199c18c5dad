"""Cell tables on PostgreSQL: connections, the schema, the two layouts of rows."""

from zengraph.tables.postgres.tables import PostgresTables

__all__ = ["PostgresTables"]
