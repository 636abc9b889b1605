"""What is shown of a job: details and metrics as Flink's REST interface names them, a diagnosis."""
