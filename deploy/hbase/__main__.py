"""`python -m deploy.hbase`: HBase in the foreground."""

from deploy.hbase.server import main

main()
