"""Pages and metrics for Flower that it lacks: queues, domains, Prometheus metrics."""
