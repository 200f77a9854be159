"""Spec files: YAML text becomes nodes that know their place, and nodes become compiled specs."""
