"""The SSRF filter: which names and addresses may be connected to."""
