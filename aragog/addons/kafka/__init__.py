"""Kafka: publishes changes to a topic, and enqueues URLs from one (docs/refresh.md#kafka)."""

COMMANDS = {
    "kafka": (
        "aragog.addons.kafka.command",
        "kafka",
        "Enqueue URLs from a Kafka topic.",
    ),
}
SENDS_CHANGES = {"kafka": "aragog.addons.kafka.change_topic:open_topic"}
