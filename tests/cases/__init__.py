"""Behaviour as case files: what came in, and what must be said of it (README.md)."""
