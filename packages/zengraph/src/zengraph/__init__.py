"""
Zen, a graph store on tables of cells, as in HBase: nodes, edges, properties, indexes and counts.

Two classes store nodes and edges, with separate rows for each edge:

- `Graph`: at most one edge of each type from one node to another; an edge's score can change.
- `MultiGraph`: parallel edges with different scores; batches, times, ordered indexes.

`LinkGraph` in `links` packs edges that are too numerous for separate rows. Other public modules:
`records` (parts for a layer over a `MultiGraph`), `tables` (the interface of engines, and the
engines `memory`, `sqlite`, `postgres`, `hbase`), `errors`, `clock` and `testing`.
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
