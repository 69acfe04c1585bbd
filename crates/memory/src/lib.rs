//! Memory: the frames of the machine, the pages of its tasks, the block cache, and who must give way.
