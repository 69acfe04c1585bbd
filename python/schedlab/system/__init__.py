"""What the package asks of the operating system: files of others, signals, and what killed processes have left."""
