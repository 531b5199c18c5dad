"""Bytes to facts: one parse of a document, its links, evidence and Rich Pin. Pure."""
