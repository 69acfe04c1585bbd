"""Settings searched for: which are best across goals that conflict, how far each may move, and what that is worth."""
