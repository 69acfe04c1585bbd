"""The claims on nbuf, asked of kernels in guests."""

from schedlab.published.reproductions.irix_1999_nbuf.kernel_claims import (
    busy_falls_with_memory,
    order_decides_more_than_memory,
    rcache_rises_with_memory,
)

__all__ = ["busy_falls_with_memory", "order_decides_more_than_memory", "rcache_rises_with_memory"]
