"""The lab in a page: one HTML file with the simulator in it, that runs experiments in a browser, without a network."""
