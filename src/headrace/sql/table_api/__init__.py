"""Plans of what a Table API program calls; the binder of SQL does the work."""
