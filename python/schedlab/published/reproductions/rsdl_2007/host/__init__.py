"""The questions of this report, asked of the kernel at hand."""
