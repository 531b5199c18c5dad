scrapy runspider documentation.py -O documentation.jsonl
