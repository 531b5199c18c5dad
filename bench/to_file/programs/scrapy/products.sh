scrapy runspider products.py -O products.csv
