"""What is on top: the command line."""
