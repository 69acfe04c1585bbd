"""Bunnell and Evans, comp.os.minix, August 1990: what the quantum does to a job of many system calls."""
