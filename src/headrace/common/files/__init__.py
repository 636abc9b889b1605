"""Files and directories of our own on this host."""
