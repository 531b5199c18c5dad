"""Three jobs from the command to the file, by aragog and by Scrapy: `python -m bench.to_file`."""
