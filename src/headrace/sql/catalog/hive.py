"""The hive catalog: the tables of a Hive metastore, through Spark's Hive support."""

from __future__ import annotations

import os
from typing import Any
from xml.etree import ElementTree

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.spark import SparkTables
from headrace.sql.catalog.store import CatalogStore
from headrace.util.exceptions import CatalogException

__all__ = ["HiveTables", "hive_catalog"]

_OPTIONS = ("default-database", "hive-conf-dir", "hadoop-conf-dir", "hive-version")
_IMPLEMENTATION = "spark.sql.catalogImplementation"


class HiveTables(SparkTables):
    """The databases and tables of the metastore that the Spark session knows.

    Which one that is, Spark decides when it starts: the first statement that uses the catalog
    starts it with the settings of `hive-site.xml`.
    """

    def __init__(self, name: str, default_database: str, settings: dict[str, str]) -> None:
        super().__init__(name, default_database, "spark_catalog")
        self._settings = Configuration.from_dict({**settings, _IMPLEMENTATION: "hive"})

    def _spark(self) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment(self._settings)
        session = env.get_spark_session()
        if session.conf.get(_IMPLEMENTATION) != "hive":
            raise CatalogException(
                f"catalog {self.name} needs a Spark session with Hive support, but one without "
                f"runs already: use the catalog before the first job, or set '{_IMPLEMENTATION}' "
                "to 'hive' in the configuration"
            )
        return session


def hive_catalog(name: str, options: dict[str, str]) -> CatalogStore:
    """`hive`, with Flink's options."""
    unknown = sorted(options.keys() - {*_OPTIONS, "property-version"})
    if unknown:
        raise SqlError(
            f"Unsupported options found for 'hive': {', '.join(unknown)}"
            f"{suggestion(unknown[0], _OPTIONS)} Supported options: {', '.join(_OPTIONS)}"
        )
    settings: dict[str, str] = {}
    for option, files in (
        ("hadoop-conf-dir", ("core-site.xml", "hdfs-site.xml")),
        ("hive-conf-dir", ("hive-site.xml",)),
    ):
        if option in options:
            settings |= _properties(options[option], files, option)
    return HiveTables(name, options.get("default-database", "default"), settings)


def _properties(directory: str, files: tuple[str, ...], option: str) -> dict[str, str]:
    """The properties of Hadoop's files, as Spark is given them."""
    found: dict[str, str] = {}
    present = [f for f in files if os.path.exists(os.path.join(directory, f))]
    if not present:
        raise SqlError(f"'{option}' is {directory}, but there is no {files[0]} in it")
    for file in present:
        path = os.path.join(directory, file)
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            raise SqlError(f"{path} cannot be read: {error}") from error
        for each in root.iter("property"):
            found[f"spark.hadoop.{each.findtext('name', '')}"] = each.findtext("value", "")
    return found
