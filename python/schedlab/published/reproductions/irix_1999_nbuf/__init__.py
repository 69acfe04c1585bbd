"""Tichy and Zemanek, 1999: what `nbuf`, the number of buffer headers, does to files on an SGI Indy under IRIX 6.2."""
