"""The lab's page from a server on this computer, with what no browser can do: results, recordings, runs."""
