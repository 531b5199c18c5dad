"""Parse typed values: dates, durations, numbers, titles and images. No I/O."""
