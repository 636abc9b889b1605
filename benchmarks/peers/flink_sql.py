"""Runs the statements of the SQL benchmark on Flink, one for each line that comes in.

    python flink_sql.py QUERIES.py FOLDER ROWS FEWER JARS

A line is an INSERT; the answer is a JSON line with the seconds that the job ran. That is what
Flink itself says about the job, so the start of its cluster is left out. After `STATE` the job does
not end by itself: the answer has the bytes of its state, when all rows have come.
"""

import importlib.util
import json
import sys
import tempfile

from pyflink.common import Configuration
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf
from settled import settled_bytes

PARALLELISM = "2"


def main():
    path, folder, rows, fewer, jars = sys.argv[1:6]
    spec = importlib.util.spec_from_file_location("queries", path)
    queries = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(queries)
    configuration = Configuration()
    configuration.set_string("parallelism.default", PARALLELISM)
    configuration.set_string("table.local-time-zone", "UTC")
    if jars:
        configuration.set_string("pipeline.jars", jars)
        configuration.set_string("pipeline.classpaths", jars)
    settings = EnvironmentSettings.new_instance().with_configuration(configuration)
    batch = getattr(queries, "BATCH", False)
    settings = settings.in_batch_mode() if batch else settings.in_streaming_mode()
    t_env = TableEnvironment.create(settings.build())
    for statement in queries.declarations(folder, int(rows), int(fewer)):
        t_env.execute_sql(statement)
    if hasattr(queries, "plus_one"):
        function = udf(queries.plus_one, result_type=DataTypes.BIGINT())
        t_env.create_temporary_function("plus_one", function)
    print("ready", flush=True)
    for line in sys.stdin:
        if line.startswith("STATE "):
            print(json.dumps({"bytes": state(t_env, line.removeprefix("STATE ").strip())}))
            sys.stdout.flush()
            continue
        result = t_env.execute_sql(line.strip())
        done = result.get_job_client().get_job_execution_result().result()
        print(json.dumps({"seconds": done.get_net_runtime() / 1000}), flush=True)


def state(t_env, statement):
    """The size of whole checkpoints of a job that goes on when it has read everything."""
    with tempfile.TemporaryDirectory() as folder:
        config = t_env.get_config()
        config.set("execution.checkpointing.dir", f"file://{folder}")
        config.set("execution.checkpointing.interval", "1 s")
        client = t_env.execute_sql(statement).get_job_client()
        try:
            return settled_bytes(folder)
        finally:
            client.cancel().result()
            config.set("execution.checkpointing.interval", "0 s")


if __name__ == "__main__":
    main()
