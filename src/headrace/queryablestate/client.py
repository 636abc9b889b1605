"""`QueryableStateClient`: asks a running job for the state of a key."""

from __future__ import annotations

import base64
import pickle
import threading
from concurrent.futures import Future
from typing import Any

import cloudpickle

from headrace.common.completable_future import CompletableFuture
from headrace.common.job_id import JobID
from headrace.common.typeinfo import TypeInformation
from headrace.coordination.access.control_client import call, find_job
from headrace.datastream.state import State, StateDescriptor
from headrace.queryablestate.immutable_state import immutable_state

__all__ = ["QueryableStateClient"]


class QueryableStateClient:
    """Reads state of jobs that run on this host as the same user.

    A descriptor makes its state readable with `set_queryable(name)`, a keyed stream its records
    with `as_queryable_state(name)`. The subtask that has the key answers between two pieces of its
    work, so an answer may take as long as an epoch does, and is never half of a change.

    Example:
        ::

            client = QueryableStateClient()
            state = client.get_kv_state(job_client.get_job_id(), "counts", "ada").result()
            print(state.value())
    """

    def get_kv_state(
        self,
        job_id: JobID | str,
        queryable_state_name: str,
        key: Any,
        key_type_info: TypeInformation | None = None,
        state_descriptor: StateDescriptor | None = None,
    ) -> CompletableFuture[State]:
        """Asks for the state of a key.

        Args:
            job_id: The job: its id, the beginning of its id, or its name.
            queryable_state_name: The name that was given to `set_queryable`.
            key: The key, of the type that the key selector returns.
            key_type_info: Accepted as in Flink; keys are Python objects.
            state_descriptor: Accepted as in Flink; the job knows the kind of its state.

        Returns:
            A future of the state: a copy, which refuses changes. It fails with `UnknownJobError`,
            `UnknownStateError` or `UnknownKeyError`.
        """
        answer: Future[State] = Future()
        wanted = job_id.to_hex_string() if isinstance(job_id, JobID) else job_id

        def ask() -> None:
            try:
                answer.set_result(self._ask(wanted, queryable_state_name, key))
            except BaseException as error:  # noqa: BLE001 - whoever asks the future gets it
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True, name="headrace-query").start()
        return CompletableFuture(answer)

    @staticmethod
    def _ask(job: str, name: str, key: Any) -> State:
        packed = base64.b64encode(cloudpickle.dumps(key)).decode()
        answer = call(find_job(job), "query", name=name, key=packed)
        return immutable_state(
            answer["kind"], pickle.loads(base64.b64decode(answer["content"])), name
        )
