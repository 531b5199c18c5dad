"""
What other programs can ask: operations, and how they are served (docs/http.md, docs/thrift.md).

Public:

    operations     what each operation does, typed: requests, answers, errors; their table
    server         HTTP and Thrift: connections, threads, limits, tokens
    json_values    requests and answers as JSON, for the server, the client and `--json`
    thrift_values  the same as structs of the contract, `urlstore.thrift`
    record_json    a record as JSON, whole or only some fields
    problems       errors as JSON (RFC 9457)
    error_table    the errors of all doors: codes, statuses and exceptions
"""
