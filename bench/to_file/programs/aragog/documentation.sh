aragog run urls.txt --depth 20 --stop -O documentation.jsonl --fields url,markdown
