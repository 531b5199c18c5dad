#!/bin/bash
# Runs HBase and its Thrift gateway until SIGTERM or until one of them exits. Then it stops both
# with SIGTERM, so that HBase flushes its memory. A container that kept running with only the gateway
# would appear healthy.
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
