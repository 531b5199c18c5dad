"""Rendering of pages that need JavaScript, in a browser without a network of its own."""
