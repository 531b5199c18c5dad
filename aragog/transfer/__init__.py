"""
Import and export of a UrlStore: JSON Lines, tables, WARC, copies.

    import_export              records from and to any format
    json_lines, parquet, rows  the formats
    warc_export, warc_import   WARC files; `aragog.urlstore.warc_records` has the form of a record
    captures, archive_import   CDX and CDXJ, and pages of web archives
    pack_export                a copy of the packs of a whole store
    parts, bulk_writer         exports by many processes, and fast imports
    copy                       a store on another engine
"""
