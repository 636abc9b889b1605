"""The coordinator: decides when an epoch runs, keeps track of subtasks, ends the job.

It reaches Spark through one narrow protocol, `carrier.Carrier`.
"""
