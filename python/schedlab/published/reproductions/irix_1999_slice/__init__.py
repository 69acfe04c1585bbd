"""Tichy and Zemanek, 1999: what `slice_size` does to programs that only compute, on an SGI Indy under IRIX 6.2."""
