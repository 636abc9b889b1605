"""When operators whose results change emit them."""

from __future__ import annotations

from enum import Enum


class Emission(Enum):
    """When an operator whose results change tells the next one."""

    EVERY_CHANGE = "after each row"
    NET_CHANGE = "at the end of an epoch"
    FINAL = "when the input has ended, without kinds: batch mode"
