"""Those who ask a JobManager: finding or starting it, handing programs to it, following jobs."""
