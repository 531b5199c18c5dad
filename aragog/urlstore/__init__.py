"""
The UrlStore: pages by any spelling or alias of their URL, which lead to the canonical one.

    store                           the UrlStore itself, and what it offers
    reader, record_reader, records  reads, and the values they return
    writing                         writes: a batch is planned, then written
    fields, field_*                 metadata fields: names, formats, age
    items, item_*                   items, many of a page
    page_content, bodies, content   the content of pages, as objects or in packs
    packs, pack_*                   packs: WARC files of many pages, their index and upkeep
    warc_records, cdxj              a WARC record of a page, and the index of records
    compression                     codec and level of bodies: in the spool, in objects, in packs
    aliases, links, link_edges      canonical URLs and their aliases; links in both directions
    nodes, node_ids, hosts          cells and keys in the tables
    refresh_policy, schedule        when a page is fetched again
    due_index, change_rate          the URLs that are due, and how often a page changes
    change_signals, signal_*        what sitemaps and feeds report about pages
    feed, watchers                  the change feed, and who watches a page
    takedowns, tombstones           pages, hosts and domains that were taken down
    uses, kept_for, crawl_members   for which purposes and crawls a page is kept
    maintenance, repair             upkeep, and repair after interrupted writes
"""
