"""From subtask to subtask: records are routed, written as frames, and read again by channel."""
