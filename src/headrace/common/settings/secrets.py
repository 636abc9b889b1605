"""Which settings are secrets, and how settings are shown to those who only look."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["MASK", "is_secret", "masked", "without_secrets"]

MASK = "******"
"""What is shown in place of a secret, as in Flink."""

_SECRET = re.compile(
    # Flink's own list, and the names that cloud stores and certificates have for theirs. A `key`
    # alone is not a secret: it may be a column, a format or the path of a file.
    r"password|passwd|passphrase|secret|token|credential|api-?key|access[.-]?key|account[.-]key"
    r"|private[.-]?key|service-key|auth-params|basic-auth|jaas|http-headers",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"((?:{_SECRET.pattern})[\w.-]*['\"]?\s*[:=]\s*)('[^']*'|\"[^\"]*\"|[^\s,;&}}]+)",
    re.IGNORECASE,
)
_OF_A_URL = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")


def is_secret(key: str) -> bool:
    """Whether a setting is a secret by the look of its name."""
    return _SECRET.search(key) is not None


def masked(text: str) -> str:
    """A text without the secrets in it: `password=x` in a list or URL, `user:password@host`."""
    return _OF_A_URL.sub(rf"\1{MASK}@", _NAMED.sub(rf"\1{MASK}", text))


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as they may be shown: their secrets are masked."""
    return {key: MASK if is_secret(key) else masked(value) for key, value in settings.items()}
