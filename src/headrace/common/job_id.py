"""`JobID`, the identity of a job."""

from __future__ import annotations

import re
import secrets

from headrace.common.errors import FunctionTypeError

__all__ = ["JobID"]

_HEX = re.compile(r"[0-9a-f]{32}")


class JobID:
    """The identity of a job: 16 random bytes, written as 32 hexadecimal digits."""

    __slots__ = ("_hex",)

    def __init__(self, hex_string: str | None = None) -> None:
        """Creates a new random id, or the one written as `hex_string`."""
        if hex_string is None:
            hex_string = secrets.token_hex(16)
        elif not isinstance(hex_string, str) or not _HEX.fullmatch(hex_string.lower()):
            raise FunctionTypeError(f"a job id must have 32 hexadecimal digits, not {hex_string!r}")
        self._hex = hex_string.lower()

    @staticmethod
    def from_hex_string(hex_string: str) -> JobID:
        """The id that is written like this."""
        return JobID(hex_string)

    def to_hex_string(self) -> str:
        """The 32 hexadecimal digits."""
        return self._hex

    def __eq__(self, other: object) -> bool:
        """Equal if the digits are."""
        if not isinstance(other, JobID):
            return NotImplemented
        return self._hex == other._hex

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(self._hex)

    def __str__(self) -> str:
        """The 32 hexadecimal digits."""
        return self._hex

    def __repr__(self) -> str:
        """The call that makes an equal id."""
        return f"JobID({self._hex!r})"
