"""The four graphs: what a program says, before anything runs it.

`transformation` records the calls of the DataStream API as a tree, `stream_graph` turns it into
nodes and edges, `job_graph` chains operators, `execution_graph` multiplies by parallelism and
`physical_graph` lays the result out as stages. Nothing here knows how an operator works or where
it runs.
"""
