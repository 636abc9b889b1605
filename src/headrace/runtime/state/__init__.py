"""Keyed state of a subtask: kinds of state, the tables behind them, time-to-live, snapshots."""
