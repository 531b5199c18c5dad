"""
Imports and exports a UrlStore: JSON Lines, tables, WARC, copies.

    import_export              imports and exports records in any format
    json_lines, parquet, rows  the formats
    warc_export, warc_import   WARC files; the record format is in `aragog.urlstore.warc_records`
    captures, archive_import   CDX and CDXJ indexes, and pages of web archives
    pack_export                copies the packs of a whole store
    parts, bulk_writer         exports by many processes, and fast imports
    copy                       copies a store to another engine
"""
