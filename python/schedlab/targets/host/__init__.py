"""The live host, seen from Python: the agent's answers turned into tables. Nothing is measured here."""
