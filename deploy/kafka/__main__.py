"""`python -m deploy.kafka`: a Kafka broker in the foreground."""

from deploy.kafka.server import main

main()
