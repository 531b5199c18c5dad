"""
Packs: web archive files of about 8 MB, each with the content of several hundred pages.

A pack is a WARC 1.1 file (ISO 28500:2017). Each record is compressed separately, with gzip, or with
zstd as in "Zstandard Compression for WARC Files 1.0", so one range request reads a page. Each pack
has a CDXJ index next to it. A page's node contains the pointer to its record.
"""
