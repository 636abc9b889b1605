"""Time in a subtask: timers, watermarks, idle streams, and sources that wait for each other."""
