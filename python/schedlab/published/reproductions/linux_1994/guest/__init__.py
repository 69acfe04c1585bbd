"""The questions of this report, asked of guest kernels."""
