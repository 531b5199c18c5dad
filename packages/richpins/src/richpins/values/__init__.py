"""Parse typed values: dates, durations, numbers, prices, ratings, yields, images. No I/O."""
