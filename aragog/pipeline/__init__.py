"""The pipeline: messages, routing, rescheduling and what its stages share; tasks call it."""
