"""The state processor: savepoints read and written in bulk, as Spark DataFrames.

`SavepointReader` gives the state of a savepoint or retained checkpoint as DataFrames.
`SavepointWriter` makes a savepoint of DataFrames, alone or on the basis of another savepoint; a job
starts from it as from any other.
"""

from headrace.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    StateBootstrapFunction,
)
from headrace.state_processor.operator_identifier import OperatorIdentifier
from headrace.state_processor.savepoint_reader import SavepointOperator, SavepointReader
from headrace.state_processor.savepoint_writer import SavepointWriter
from headrace.state_processor.transformation import (
    OperatorTransformation,
    StateBootstrapTransformation,
)

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorIdentifier",
    "OperatorTransformation",
    "SavepointOperator",
    "SavepointReader",
    "SavepointWriter",
    "StateBootstrapFunction",
    "StateBootstrapTransformation",
]
