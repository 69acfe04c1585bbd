//! What else goes on on this host.
