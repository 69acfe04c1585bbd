"""The order of reads and writes, asked of kernels in guests."""

from schedlab.published.reproductions.linux_1994.kernel_claims import (
    order_divides_the_drive,
    sorting_is_worth_more_than_order,
    writes_first_helps_under_swap,
)

__all__ = ["order_divides_the_drive", "sorting_is_worth_more_than_order", "writes_first_helps_under_swap"]
