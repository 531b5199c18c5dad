"""
The UrlStore finds pages by any spelling or alias of their URL.

    store                           the UrlStore and its public interface
    reader, record_reader, records  reads, and the values they return
    writing                         writes: a batch is planned, then written
    fields, field_*                 metadata fields: names, formats, age
    items, item_*                   items; a page can have many
    page_content, bodies, content   the content of pages, as objects or in packs
    packs, pack_*                   packs (WARC files of many pages), their index and maintenance
    warc_records, cdxj              a page's WARC record, and the index of records
    compression                     codec and level for bodies: in the spool, objects and packs
    aliases, links, link_edges      canonical URLs and their aliases; links in both directions
    nodes, node_ids, hosts          keys and columns in the tables
    refresh_policy, schedule        when a page is fetched again
    due_index, change_rate          the URLs that are due, and how often pages change
    change_signals, signal_*        changes that sitemaps and feeds report
    feed, watchers                  the change feed, and who watches a page
    takedowns, tombstones           pages, hosts and domains that were taken down
    uses, kept_for, crawl_members   permitted uses of a page, and the crawls that keep it
    maintenance, repair             regular maintenance, and repair after interrupted writes
"""
