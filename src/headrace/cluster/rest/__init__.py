"""The REST interface of the JobManager, with Flink's paths and JSON."""
