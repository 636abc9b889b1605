"""What runs inside a slot. Knows nothing of Spark.

A `slot` is the process; in it live subtasks (`subtask`), each a chain of `operators` that pass each
other batches (`batch`). `exchange` takes records from subtask to subtask, `time` has timers and
watermarks, `functions` is what user functions are given, `state` keeps keyed and operator state,
and `snapshots` takes it out and puts it back. At the root are the words that all rooms share, and
what is on disk: `storage` and `snapshot_files`.
"""
