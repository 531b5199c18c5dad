"""
Additions to Flower: pages about domains, URLs and crawls, the explanation of a URL,
and metrics.
"""
