aragog run urls.txt --depth 1 --stop -O hosts.csv --fields url,title
