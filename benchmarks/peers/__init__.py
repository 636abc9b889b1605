"""Programs that run in the peers' own environments, and the environments themselves."""
