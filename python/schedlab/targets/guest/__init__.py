"""Guest kernels: real kernels under software emulation that counts instructions, as a target."""
