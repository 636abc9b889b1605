"""Records of CSV files are found however their bytes come, with line ends within quotes or not."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.text_reader import QuotedChunks
from headrace.formats.csv import CsvDialect, RecordCutter
from headrace.sql.connectors.files import csv as csv_files
from tests.examples import examples

FIELDS = st.lists(
    st.text(st.sampled_from(list('ab,;"\n\r#ä!')), max_size=6), min_size=1, max_size=3
)
ENDS = st.sampled_from(["\n", "\r\n"])
DIALECTS = st.sampled_from(
    [CsvDialect(), CsvDialect(";", "'"), CsvDialect(escape="!"), CsvDialect("§")]
)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, CsvDialect]:
    """Rows in some dialect, perhaps with a quote that is none in a field."""
    dialect = draw(DIALECTS)
    quoted, lines = dialect.quoter(), []
    for fields in draw(st.lists(FIELDS, max_size=6)):
        odd = draw(st.sampled_from(["", f"a{dialect.quote}{dialect.delimiter}"]))
        lines.append(odd + dialect.delimiter.join(map(quoted, fields)) + draw(ENDS))
    return "".join(lines), dialect


def fields_of(text: str, dialect: CsvDialect) -> list[list[str]]:
    return [r for r in csv.reader(io.StringIO(text, newline=""), **dialect.reader_options()) if r]


@examples(75)
@given(texts(), st.integers(1, 9))
def test_records_are_those_of_the_whole_text(written: tuple[str, CsvDialect], size: int) -> None:
    text, dialect = written
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.csv"
        path.write_text(text, newline="")
        found: list[str] = []
        split = FileSplit("a", str(path), 0, None)
        while True:
            # As after a restart: each record is read by a reader of its own.
            reader = QuotedChunks(split, RecordCutter(dialect), size)
            records = reader.take(1)
            split = reader.snapshot()
            reader.close()
            if not records:
                break
            found += records
    assert [f for r in found for f in fields_of(r, dialect)] == fields_of(text, dialect)


@pytest.mark.parametrize(("text", "splittable"), [("1,a\n" * 9, True), ('1,"a"\n' * 9, False)])
def test_a_file_is_read_in_parts_if_nothing_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, splittable: bool
) -> None:
    monkeypatch.setattr(csv_files, "SPLIT_SIZE", 10)
    (tmp_path / "a.csv").write_text(text)
    assert csv_files.csv_records(CsvDialect()).splittable(f"{tmp_path}/a.csv") is splittable
