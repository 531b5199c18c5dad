"""
Zen, a graph store: nodes, edges, properties, indexes and counts over cell tables.

Two classes hold nodes and edges, each edge in rows of its own:

- `Graph`: a node has one edge of a type to another node, and its score can change.
- `MultiGraph`: parallel edges, which differ in their score; batches, times, ordered indexes.

`LinkGraph` in `links` packs edges that are too many for rows of their own. Other public modules:
`records` (parts for a layer over a `MultiGraph`), `tables` (the port of engines, and its engines
`memory`, `sqlite`, `postgres`, `hbase`), `errors`, `clock` and `testing`.
"""

from zengraph._codec import IN, OUT
from zengraph._graph import Graph, RepairedGraph
from zengraph._indexes import MAX_LIMIT, Schema
from zengraph._multigraph import MultiGraph
from zengraph._parallel_edges import Edge, Edges
from zengraph._remedies import Remedies
from zengraph._row_limits import Limits
from zengraph._simple_edge_rows import EdgeKey, NewEdge

__all__ = [
    "IN",
    "MAX_LIMIT",
    "OUT",
    "Edge",
    "EdgeKey",
    "Edges",
    "Graph",
    "Limits",
    "MultiGraph",
    "NewEdge",
    "Remedies",
    "RepairedGraph",
    "Schema",
]
