from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
words = t_env.from_elements([(word,) for word in "to be or not to be".split()], ["word"])
counts = words.group_by(col("word")).select(col("word"), col("word").count.alias("times"))
counts.order_by(col("word")).execute().print()
