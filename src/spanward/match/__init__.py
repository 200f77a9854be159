"""Matchers: questions to one item, compiled once from YAML and answered true, false or unknown."""
