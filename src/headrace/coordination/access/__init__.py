"""How other processes find a running job, and steer it."""
