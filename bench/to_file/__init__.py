"""Three jobs from the command to the file, with aragog and Scrapy: `python -m bench.to_file`."""
