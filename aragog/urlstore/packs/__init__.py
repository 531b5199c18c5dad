"""
Packs: files of about 8 MB in a web archive format, each with the content of some hundred pages.

A pack is a WARC 1.1 file (ISO 28500:2017). Each record is compressed by itself, with zstd as in
"Zstandard Compression for WARC Files 1.0" or with gzip, so that one range request reads a page. A
CDXJ index lies beside each pack. A page's node has the pointer to its record.
"""
