"""Cell tables on PostgreSQL: connections, the schema, and the two row layouts."""

try:
    from zengraph.tables.postgres.tables import PostgresTables
except ModuleNotFoundError as error:
    if error.name != "psycopg":
        raise
    raise ModuleNotFoundError(
        f"{error.name} is not installed: pip install 'zengraph[postgres]'", name=error.name
    ) from None

__all__ = ["PostgresTables"]
