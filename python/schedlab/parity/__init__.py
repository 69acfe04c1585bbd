"""Parity: the same scenarios simulated and measured, and where they differ by more than is allowed."""
