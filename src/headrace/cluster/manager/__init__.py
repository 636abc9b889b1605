"""The JobManager: its process, the jobs and programs in it, and those who are attached to it."""
