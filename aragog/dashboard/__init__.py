"""What Flower lacks: the pages of domains and URLs, the explanation of a URL, metrics."""
