aragog run urls.txt --stop -O products.csv --fields url,name,price,sku,stock,image
