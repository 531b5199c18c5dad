"""
The API for other programs: operations, and the servers for them (docs/http.md, docs/thrift.md).

Public:

    operations     what each operation does, with typed requests, responses and errors
    server         HTTP and Thrift: connections, threads, limits, tokens
    json_values    requests and responses as JSON, for the server, the client and `--json`
    thrift_values  requests and responses as Thrift structs (`urlstore.thrift`)
    record_json    a record as JSON, complete or with selected fields
    problems       errors as JSON (RFC 9457)
    error_table    error codes with their HTTP statuses and Thrift exceptions
"""
