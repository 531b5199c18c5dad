"""Pages and metrics that aragog adds to Flower."""
