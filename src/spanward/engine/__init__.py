"""The engine: sessions, units, facts and monitors; no I/O, no threads, no clock of its own."""
