"""Steers a job from the driver: when an epoch runs, when a checkpoint is taken, how it ends.

`job` is the job master and the decisions that it makes, `slots` is how it reaches its slots,
`views` is what is shown of a job, and `access` lets other processes find and steer it. At the root
are checkpoints, from their coordinator to their store, and `carrier`: the one narrow protocol
through which a job reaches Spark.
"""
