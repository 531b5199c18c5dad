"""
Packed adjacency: the edges of page links, many to a cell.

Zen's second representation of edges, for lists that are replaced as a whole and are far too many
for a row each: the outlinks of a node in one cell, its inlinks in posting lists that are compacted
from a journal of changes. Nodes are named by their URLs; a node's key is its URL's hash.
"""
