"""Bouron et al., USENIX ATC 2018: ULE of FreeBSD 11.1 and CFS of Linux 4.9 in one kernel."""
