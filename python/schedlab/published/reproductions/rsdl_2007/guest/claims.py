"""What kernels in guests make of the desktop of 2007: the same checks as on a live kernel."""

from schedlab.published.reproductions.rsdl_2007.host.claims import batch_build_is_gentler, music_does_not_skip

__all__ = ["batch_build_is_gentler", "music_does_not_skip"]
