"""Behaviour specs for AI agents, judged live on their OpenTelemetry telemetry."""

__version__ = "0.1.0"
