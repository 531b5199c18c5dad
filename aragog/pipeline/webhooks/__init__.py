"""Webhook deliveries: payload, signature, transport."""
