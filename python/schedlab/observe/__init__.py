"""What a live host is doing: its counters, which resource is short and who uses it up, where a command's time goes."""
