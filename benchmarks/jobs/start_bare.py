"""A ten-record bare PySpark script with one shuffle."""

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[*]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.python.unix.domain.socket.enabled", "true")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()
)
pairs = spark.sparkContext.range(10, numSlices=2).map(lambda x: (x % 2, x))
for result in pairs.reduceByKey(lambda a, b: a + b, 2).collect():
    print(result, flush=True)
