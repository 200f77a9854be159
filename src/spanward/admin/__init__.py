"""The admin pages: what Prometheus, probes and people ask of a running service."""
