"""Results as tables and as one self-contained HTML page."""
