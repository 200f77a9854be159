"""The doors: where senders hand their telemetry in."""
