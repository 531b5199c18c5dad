"""What Flower lacks: queues, domains, metrics."""
