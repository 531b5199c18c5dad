"""
The operations, with typed requests, responses and errors. They do not depend on protocols.

    table, operation      all operations, and what an operation is
    options, values       the parameters of operations, and how they are validated
    scopes                what a token may do
    enqueue_options       the options of `enqueue` for Python, HTTP, Thrift and the CLI; add new
                          ones here
    crawling, crawl*      enqueuing, fetching now, crawls
    reading, *_reads      records, links and content of pages; also `page_texts`, `pin_card`
    writing, field_*      fields that applications write
    jobs, job_*, queue_*  job queues for workers in other programs
    graph*                graphs of applications
"""
