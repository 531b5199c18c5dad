"""The Redis servers of the limiter: their ring, clocks and scripts."""
