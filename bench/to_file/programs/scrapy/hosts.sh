scrapy runspider hosts.py -O hosts.csv
