"""
The crawl log: a row for each fetch, in dated Parquet files in a folder or S3.

`rows` has the columns, `stream` keeps rows in Redis until their file is written, `writer` writes
the files, and `files` puts them into place.
"""
