"""The filesystem connector: lines, CSV, Parquet, ORC and Avro below a directory, in partitions."""
