"""`python -m deploy.s3`: an S3 server in the foreground."""

from deploy.s3.server import main

main()
