"""Carrying out an experiment: its plan and what it would change, the order of its runs, and what is kept of them."""
