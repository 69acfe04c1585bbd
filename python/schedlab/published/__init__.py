"""Published results: rebuilt row by row on the simulator, and asked again of present kernels."""
