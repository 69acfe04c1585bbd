"""Where runs happen: the simulator, the Linux of this computer (host), and real kernels in an emulator (guest)."""
