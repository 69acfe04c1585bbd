"""Rubini, comp.os.linux.development, April 1994: reads or writes first in the elevator of a PC that swaps."""
