"""Emitters: how the world learns of verdicts, as spans, as JSON lines, as figures."""
