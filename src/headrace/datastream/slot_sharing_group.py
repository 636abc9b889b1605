"""Slot sharing groups: which operators share a slot, and what a slot of the group needs."""

from __future__ import annotations

from functools import total_ordering
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.settings.types import MEMORY

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = ("bytes", "kb", "mb", "gb", "tb")


@total_ordering
class MemorySize:
    """A number of bytes.

    Args:
        bytes_size: The number of bytes, or 0 if left out.

    Example:
        >>> str(MemorySize.of_mebi_bytes(64))
        '64 mb'
    """

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int | None = None) -> None:
        size = 0 if bytes_size is None else bytes_size
        if isinstance(size, bool) or not isinstance(size, int):
            raise FunctionTypeError(
                f"a MemorySize must be a whole number of bytes, not {size!r}; use "
                "MemorySize.of_mebi_bytes(64) or MemorySize.parse('64mb')"
            )
        if size < 0:
            raise GraphError(f"a MemorySize cannot be negative, got {size} bytes")
        self._bytes = size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Returns a size of so many times 1024 * 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    @staticmethod
    def parse(text: str) -> MemorySize:
        """Returns the size that a text such as `64mb` or `1 g` stands for."""
        return MemorySize(MEMORY.parse("memory size", text))

    def get_bytes(self) -> int:
        """Returns the size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Returns the size in units of 1024 bytes, rounded down."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Returns the size in units of 1024 ** 2 bytes, rounded down."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Returns the size in units of 1024 ** 3 bytes, rounded down."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Returns the size in units of 1024 ** 4 bytes, rounded down."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        """Equal if the number of bytes is."""
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        """Hashes the number of bytes."""
        return hash(self._bytes)

    def __lt__(self, other: MemorySize) -> bool:
        """Ordered by the number of bytes."""
        if not isinstance(other, MemorySize):
            return NotImplemented
        return self._bytes < other._bytes

    def __str__(self) -> str:
        """The size in the largest unit that needs no fraction."""
        size, unit = self._bytes, 0
        while size and size % 1024 == 0 and unit < len(_UNITS) - 1:
            size, unit = size // 1024, unit + 1
        return f"{size} {_UNITS[unit]}"

    def __repr__(self) -> str:
        """Shows the number of bytes."""
        return f"MemorySize({self._bytes})"


class SlotSharingGroup:
    """A named group of operators whose subtasks may share slots.

    Made with `SlotSharingGroup.builder(name)`. Without resources a slot of the group takes its even
    share of the machine.

    Example:
        >>> builder = SlotSharingGroup.builder("model").set_cpu_cores(1.0)
        >>> builder.set_task_heap_memory_mb(512).build().get_task_heap_memory()
        MemorySize(536870912)
    """

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise FunctionTypeError(f"the name of a slot sharing group must be a str, not {name!r}")
        if not name:
            raise GraphError("a slot sharing group needs a non-empty name")
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Starts a builder for the group with that name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Returns the name."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """Returns the cores that a slot needs, or None if the group has no resources."""
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Returns the memory that a slot needs, or None if the group has no resources."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Returns the further memory that a slot needs, or None without resources."""
        return self._task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Returns the memory for the state backend, or None without resources."""
        return self._managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Returns further resources, such as GPUs, by name."""
        return dict(self._external_resources)

    def _fields(self) -> tuple[Any, ...]:
        return (
            self._name,
            self._cpu_cores,
            self._task_heap_memory,
            self._task_off_heap_memory,
            self._managed_memory,
            tuple(sorted(self._external_resources.items())),
        )

    def __eq__(self, other: object) -> bool:
        """Equal if name and resources are."""
        return isinstance(other, SlotSharingGroup) and self._fields() == other._fields()

    def __hash__(self) -> int:
        """Hashes name and resources."""
        return hash(self._fields())

    def __repr__(self) -> str:
        """Shows the name and, if there are any, the main resources."""
        if self._cpu_cores is None:
            return f"SlotSharingGroup({self._name!r})"
        return (
            f"SlotSharingGroup({self._name!r}, cpu_cores={self._cpu_cores}, "
            f"task_heap_memory={self._task_heap_memory})"
        )

    class Builder:
        """Builds a `SlotSharingGroup`; every method but `build` returns the builder."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap_memory: MemorySize | None = None
            self._task_off_heap_memory: MemorySize | None = None
            self._managed_memory: MemorySize | None = None
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Sets the cores that a slot needs; fractions are allowed."""
            if cpu_cores <= 0:
                raise GraphError(
                    f"group {self._name!r} needs a positive number of cores, got {cpu_cores}"
                )
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Sets the memory that a slot needs."""
            if _memory(task_heap_memory).get_bytes() == 0:
                raise GraphError(f"group {self._name!r} needs a positive amount of heap memory")
            self._task_heap_memory = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Sets the memory that a slot needs, in MiB."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Sets further memory that a slot needs."""
            self._task_off_heap_memory = _memory(task_off_heap_memory)
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Sets further memory that a slot needs, in MiB."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Sets the memory for the state backend."""
            self._managed_memory = _memory(managed_memory)
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Sets the memory for the state backend, in MiB."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Sets how much of a further resource, such as `gpu`, a slot needs."""
            self._external_resources[name] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            """Returns the group. With any resource, cores and heap memory must be set."""
            if self._cpu_cores is not None and self._task_heap_memory is not None:
                return SlotSharingGroup(
                    self._name,
                    self._cpu_cores,
                    self._task_heap_memory,
                    self._task_off_heap_memory or MemorySize(0),
                    self._managed_memory or MemorySize(0),
                    self._external_resources,
                )
            others = (
                self._cpu_cores,
                self._task_heap_memory,
                self._task_off_heap_memory,
                self._managed_memory,
            )
            if self._external_resources or any(value is not None for value in others):
                raise GraphError(
                    f"group {self._name!r} has resources, but not both cores and heap memory; "
                    "call set_cpu_cores() and set_task_heap_memory_mb(), or set no resources at "
                    "all"
                )
            return SlotSharingGroup(self._name)


def _memory(value: MemorySize) -> MemorySize:
    if not isinstance(value, MemorySize):
        raise FunctionTypeError(
            f"a MemorySize is needed, not {value!r}; write MemorySize.of_mebi_bytes(64)"
        )
    return value
