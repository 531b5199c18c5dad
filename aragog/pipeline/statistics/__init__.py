"""What all processes count and measure together, kept in Redis for operators."""
