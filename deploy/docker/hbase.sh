#!/bin/bash
# HBase and its Thrift gateway, until SIGTERM or until one of them ends. Both end in order, so that
# HBase flushes its memory; a container with a gateway but no HBase would seem healthy.
hbase master \
    -D hbase.rootdir=file:///data/hbase -D hbase.tmp.dir=/data/tmp \
    -D hbase.regionserver.msginterval=500 start &
master=$!
hbase thrift start &
gateway=$!
trap 'kill "$master" "$gateway"' TERM
wait -n
kill "$master" "$gateway" 2>/dev/null
wait
