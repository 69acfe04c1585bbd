"""The questions of this report, asked of kernels in guests."""
