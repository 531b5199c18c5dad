"""
The operations, independent of protocols: typed requests, responses and errors.

    table, operation      all operations; what each one is
    options, values       reading and checking parameters
    scopes                what a token may do
    enqueue_options       the options of `enqueue` for Python, HTTP, Thrift and the CLI; a new one
                          starts here
    crawling, crawl*      enqueuing, fetching now, crawls
    reading, *_reads      records, links and content of pages; also `page_texts`, `pin_card`
    writing, field_*      fields that applications write
    jobs, job_*, queue_*  queues of job types
    graph*                graphs of applications
"""
