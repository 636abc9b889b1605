"""A session: catalogs, settings and running jobs, and a module for each family of statements."""
