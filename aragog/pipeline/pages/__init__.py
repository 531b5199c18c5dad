"""The analysis of fetched bodies, and the page updates that follow from it."""
