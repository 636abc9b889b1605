"""`EnvironmentSettings`: how a table environment is set up."""

from __future__ import annotations

from headrace.common.configuration import Configuration
from headrace.common.settings.table_options import BUILTIN_CATALOG, BUILTIN_DATABASE

__all__ = ["EnvironmentSettings"]

_MODE = "execution.runtime-mode"


class EnvironmentSettings:
    """Streaming or batch mode, names of the first catalog and database, and other settings.

    Example:
        >>> settings = EnvironmentSettings.in_streaming_mode()
        >>> t_env = TableEnvironment.create(settings)
    """

    class Builder:
        """Collects settings."""

        def __init__(self) -> None:
            self._configuration = Configuration()
            self._configuration.set_string(_MODE, "STREAMING")

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Add settings."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Queries run over inputs that end, and give final results only."""
            self._configuration.set_string(_MODE, "BATCH")
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Queries give results as rows come, the default."""
            self._configuration.set_string(_MODE, "STREAMING")
            return self

        def with_built_in_catalog_name(
            self, built_in_catalog_name: str
        ) -> EnvironmentSettings.Builder:
            """The name of the first catalog."""
            self._configuration.set(BUILTIN_CATALOG, built_in_catalog_name)
            return self

        def with_built_in_database_name(
            self, built_in_database_name: str
        ) -> EnvironmentSettings.Builder:
            """The name of the first database."""
            self._configuration.set(BUILTIN_DATABASE, built_in_database_name)
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return EnvironmentSettings(self._configuration)

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = configuration or Configuration()

    def get_built_in_catalog_name(self) -> str:
        """The name of the first catalog."""
        name: str = self._configuration.get(BUILTIN_CATALOG)
        return name

    def get_built_in_database_name(self) -> str:
        """The name of the first database."""
        name: str = self._configuration.get(BUILTIN_DATABASE)
        return name

    def is_streaming_mode(self) -> bool:
        """Whether queries give results as rows come."""
        return self._configuration.get_string(_MODE, "STREAMING").upper() != "BATCH"

    def get_configuration(self) -> Configuration:
        """All settings."""
        return self._configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begin with the default settings."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Default settings in streaming mode."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Default settings in batch mode."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()
