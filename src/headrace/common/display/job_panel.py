"""A job in a notebook: its figures while it runs, and a button that ends it.

It needs `ipywidgets`; without them a notebook shows the figures of the moment.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from headrace.common.display.html import html_facts

if TYPE_CHECKING:
    from headrace.common.job_client import JobHandle

__all__ = ["JobPanel", "facts_of"]

_REFRESH_S = 0.5


def facts_of(handle: JobHandle) -> dict[str, object]:
    """What there is to say about a job now."""
    facts = {"id": handle.job_id, "state": handle.status().name}
    return {**facts, **handle.facts(), **handle.accumulators()}


class JobPanel:
    """Widgets that follow a job until it ends.

    Raises:
        ImportError: There are no `ipywidgets`.
    """

    def __init__(self, handle: JobHandle) -> None:
        # They are in notebooks only, if at all.
        import ipywidgets

        self._handle = handle
        self.figures: Any = ipywidgets.HTML()
        self.stop: Any = ipywidgets.Button(
            description="Stop", tooltip="Cancel the job", icon="stop", button_style="danger"
        )
        self.stop.on_click(lambda _: self._cancel())
        self.box: Any = ipywidgets.VBox([self.figures, self.stop])
        self._refresh()

    def follow(self) -> None:
        """Keep the figures up to date, on a thread of its own."""
        threading.Thread(target=self._follow, daemon=True, name="headrace-job-panel").start()

    def _follow(self) -> None:
        ended = threading.Event()
        self._handle.result_future().add_done_callback(lambda _: ended.set())
        while not ended.wait(_REFRESH_S):
            self._refresh()
        self._refresh()

    def _refresh(self) -> None:
        self.figures.value = html_facts("job", facts_of(self._handle))
        if self._handle.result_future().done():
            self.stop.disabled, self.stop.description = True, "Ended"

    def _cancel(self) -> None:
        self.stop.disabled = True
        self.stop.description = "Stopping"
        self._handle.cancel()
