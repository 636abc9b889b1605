"""Frames over Spark's pipelined shuffle: one long Spark job instead of one for each epoch."""
