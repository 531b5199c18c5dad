"""
Packed adjacency: page links as edges, stored many to a cell.

Zen's second representation of edges, for lists that are replaced as a whole and that are far too
large for a row per edge: the outlinks of a node in one cell, its inlinks in posting lists that are
compacted from a journal of changes. URLs name the nodes; a node's key is the hash of its URL.
"""
