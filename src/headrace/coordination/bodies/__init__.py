"""What the REST interface tells about jobs: the bodies of Flink's answers, as dataclasses."""
