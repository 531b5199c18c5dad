"""
Zen, a graph store: nodes, edges, properties, indexes and counts over cell tables.

Two classes hold nodes and edges, each edge in rows of its own:

- `Graph`: a node has one edge of a type to another node, and its score can change.
- `MultiGraph`: parallel edges, which differ in their score; batches, times, ordered indexes.

`LinkGraph` in `links` packs edges that are too many for rows of their own. Other public modules:
`records` (parts for a layer over a `MultiGraph`), `tables` (the port of engines, and its engines
`memory`, `sqlite`, `postgres`, `hbase`), `errors`, `clock` and `testing`.
"""

from aragog.zen.application_graphs import Graph, RepairedGraph
from aragog.zen.codec import IN, OUT
from aragog.zen.edges import Edge, Edges
from aragog.zen.graph import MultiGraph
from aragog.zen.indexes import MAX_LIMIT, Schema
from aragog.zen.pair_edges import EdgeKey, NewEdge
from aragog.zen.remedies import Remedies
from aragog.zen.row_limits import Most

__all__ = [
    "IN",
    "MAX_LIMIT",
    "OUT",
    "Edge",
    "EdgeKey",
    "Edges",
    "Graph",
    "Most",
    "MultiGraph",
    "NewEdge",
    "Remedies",
    "RepairedGraph",
    "Schema",
]
