"""What only the `rocksdb` backend does: files, the cache, the pipe of a deferred snapshot."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, StateError
from headrace.datastream.state_backend import EmbeddedRocksDBStateBackend, PredefinedOptions
from headrace.datastream.window import TimeWindow
from headrace.runtime.state import rocksdb_settings
from headrace.runtime.state.factory import StateBackendSettings
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.runtime.state.rocksdb import RocksDBStateBackend
from headrace.runtime.state.rocksdb_settings import RocksDBSettings
from headrace.runtime.state.rocksdb_store import RocksDBResources
from tests.unit.runtime.state.backends import Subtask, list_of, map_of, sum_of, value_of

SMALL = RocksDBSettings(object_cache_size=10)


def subtask_with(settings: RocksDBSettings) -> Subtask:
    resources = RocksDBResources(settings)
    return Subtask(lambda *a, **k: RocksDBStateBackend(*a, resources=resources, **k))


@pytest.fixture
def subtask(tmp_path):
    subtask = subtask_with(replace(SMALL, local_directories=(str(tmp_path),)))
    yield subtask
    subtask.backend.dispose()


def write_many(subtask, state, keys=range(100)):
    for key in keys:
        subtask.at(key)
        state.update(key)


def databases(directory):
    return sorted(directory.glob("headrace-rocksdb-*/db"))


class TestFiles:
    def test_there_is_no_database_while_the_cache_has_room(self, subtask, tmp_path):
        state = subtask.state(value_of())
        write_many(subtask, state, range(10))
        subtask.backend.snapshot()
        assert databases(tmp_path) == []
        write_many(subtask, state, range(11))
        assert len(databases(tmp_path)) == 1

    def test_dispose_removes_everything(self, subtask, tmp_path):
        write_many(subtask, subtask.state(value_of()))
        subtask.backend.dispose()
        assert os.listdir(tmp_path) == []
        with pytest.raises(StateError, match="disposed"):
            subtask.state(value_of())

    def test_so_does_dropping_the_backend(self, tmp_path):
        subtask = subtask_with(replace(SMALL, local_directories=(str(tmp_path),)))
        write_many(subtask, subtask.state(value_of()))
        assert databases(tmp_path)
        del subtask
        gc.collect()
        assert os.listdir(tmp_path) == []

    def test_what_a_killed_process_left_is_removed_by_the_next(self, tmp_path):
        program = (
            "import os, signal\n"
            "from tests.unit.runtime.state.test_rocksdb import *\n"
            f"s = subtask_with(replace(SMALL, local_directories=({str(tmp_path)!r},)))\n"
            "write_many(s, s.state(value_of()))\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        killed = subprocess.run([sys.executable, "-c", program], check=False)
        assert killed.returncode == -9
        assert len(databases(tmp_path)) == 1
        one, other = (
            subtask_with(replace(SMALL, local_directories=(str(tmp_path),))) for _ in range(2)
        )
        for subtask in (one, other):
            write_many(subtask, subtask.state(value_of()))
        # One for each of the living.
        assert len(databases(tmp_path)) == 2

    def test_subtasks_are_spread_over_the_directories(self, tmp_path):
        paths = tuple(str(tmp_path / name) for name in "ab")
        resources = RocksDBResources(replace(SMALL, local_directories=paths))
        subtasks = [
            Subtask(
                lambda *a, i=i, **k: RocksDBStateBackend(*a, resources=resources, subtask=i, **k)
            )
            for i in range(2)
        ]
        for subtask in subtasks:
            write_many(subtask, subtask.state(value_of()))
        assert [len(databases(tmp_path / name)) for name in "ab"] == [1, 1]

    def test_a_directory_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").touch()
        subtask = subtask_with(replace(SMALL, local_directories=(str(tmp_path / "file"),)))
        with pytest.raises(StateError, match=r"state\.backend\.rocksdb\.localdir"):
            write_many(subtask, subtask.state(value_of()))


class TestCache:
    def test_it_stays_small(self, subtask):
        state = subtask.state(value_of())
        for key in range(1000):
            subtask.at(key)
            assert state.value() is None
            state.update(key)
            assert len(state._entries) <= 10
        assert subtask.backend.number_of_entries() == 1000
        for key in range(1000):
            subtask.at(key)
            assert state.value() == key
            assert len(state._entries) <= 10

    def test_it_is_shared_by_all_states(self, subtask):
        states = [subtask.state(value_of(f"s{i}")) for i in range(4)]
        for key in range(50):
            subtask.at(key)
            for state in states:
                state.update(key)
                assert len(state._entries) <= 2
        assert subtask.backend.number_of_entries() == 200

    def test_changes_in_place_reach_the_database(self, subtask):
        elements, pairs = subtask.state(list_of()), subtask.state(map_of())
        for round_ in range(3):
            for key in range(50):
                subtask.at(key)
                elements.add(round_)
                pairs.put(round_, key)
        assert subtask.dump(list_of()) == {key: [0, 1, 2] for key in range(50)}
        assert subtask.dump(map_of()) == {key: {0: key, 1: key, 2: key} for key in range(50)}

    def test_an_entry_that_is_gone_stays_gone(self, subtask):
        state = subtask.state(value_of())
        write_many(subtask, state)
        for key in range(0, 100, 2):
            subtask.at(key)
            state.clear()
        assert sorted(subtask.backend.keys("value")) == list(range(1, 100, 2))
        write_many(subtask, state, range(0, 100, 4))
        assert subtask.backend.number_of_entries() == 75

    def test_equal_keys_are_one_entry(self, subtask):
        state = subtask.state(sum_of())
        for key in (1, 1.0, True, (0, 1), (False, 1.0), 0.5):
            subtask.at(key)
            state.add(1)
            write_many(subtask, subtask.state(value_of()))
        for key in range(100, 120):
            subtask.at(key)
            state.add(1)
        subtask.at(1.0)
        assert state.get() == 3
        subtask.at((0, 1))
        assert state.get() == 2
        assert subtask.backend.number_of_entries("sum") == 23

    def test_windows_as_namespaces(self, subtask):
        state = subtask.state(list_of(), namespaced=True)
        for key in ("a", "b"):
            for start in range(20):
                subtask.at((key, TimeWindow(start, start + 5)))
                state.add(start)
        assert sorted(subtask.backend.keys("list", TimeWindow(3, 8))) == ["a", "b"]
        state.merge_namespaces("a", TimeWindow(0, 5), [TimeWindow(i, i + 5) for i in range(20)])
        subtask.at(("a", TimeWindow(0, 5)))
        assert state.get() == list(range(20))
        assert len(subtask.backend.keys_and_namespaces("list")) == 21

    def test_a_state_may_change_while_all_keys_are_visited(self, subtask):
        state = subtask.state(value_of())
        write_many(subtask, state)
        seen = []

        def visit(key, state):
            seen.append(key)
            state.update(-1) if key % 2 else state.clear()

        subtask.backend.apply_to_all_keys(value_of(), visit)
        assert sorted(seen) == list(range(100))
        assert subtask.dump(value_of()) == {key: -1 for key in range(1, 100, 2)}

    def test_a_value_of_a_class_that_is_gone_is_named(self, subtask):
        class Gone:
            def __reduce__(self):
                return _fail, ()

        state = subtask.state(value_of())
        subtask.at("x")
        state.update(Gone())
        write_many(subtask, state)
        subtask.at("x")
        with pytest.raises(StateError, match=r"key 'x' of the saved state 'value'.*no such class"):
            state.value()


def _fail():
    raise RuntimeError("no such class")


class TestDeferredSnapshots:
    def test_one_that_nobody_wants_ends_its_thread(self, subtask):
        write_many(subtask, subtask.state(value_of()), range(20_000))
        snapshot = subtask.backend.snapshot(deferred=True)
        assert pump_threads()
        del snapshot
        wait_until(lambda: not pump_threads())

    def test_one_that_a_child_never_reads(self, subtask):
        write_many(subtask, subtask.state(value_of()), range(20_000))
        before = set(os.listdir("/proc/self/fd"))
        snapshot = subtask.backend.snapshot(deferred=True)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        snapshot.release()
        wait_until(lambda: not pump_threads())
        assert set(os.listdir("/proc/self/fd")) <= before

    def test_dispose_in_the_middle_is_told_to_the_reader(self, subtask):
        write_many(subtask, subtask.state(value_of()), range(20_000))
        snapshot = subtask.backend.snapshot(deferred=True)
        subtask.backend.dispose()
        with pytest.raises(StateError, match="subtask was closed"):
            snapshot.serialize()

    def test_blocks_are_copied_in_pieces(self, subtask):
        state = subtask.state(value_of())
        for key in range(40):
            subtask.at(key)
            state.update("x" * 100_000)
        snapshot = subtask.backend.snapshot(deferred=True).serialize()
        restored = subtask.restored(snapshot)
        assert restored.dump(value_of()) == {key: "x" * 100_000 for key in range(40)}


def pump_threads():
    return [t for t in threading.enumerate() if t.name == "rocksdb-snapshot"]


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        gc.collect()
        time.sleep(0.01)


@pytest.mark.parametrize("kind", ["full", "changes"])
def test_state_moves_between_backends(subtask, kind):
    hashmap = Subtask(HashMapStateBackend)
    state = hashmap.state(value_of())
    write_many(hashmap, state)
    chain = [hashmap.backend.snapshot("full", 1)]
    subtask.backend.restore(chain, range(16), base=1)
    write_many(subtask, subtask.state(value_of()), range(90, 110))
    subtask.at(3)
    subtask.state(value_of()).clear()
    last = subtask.backend.snapshot(kind, 2)
    chain = [*chain, last] if kind == "changes" else [last]
    back = Subtask(HashMapStateBackend)
    back.backend.restore(chain, range(16))
    assert back.dump(value_of()) == {key: key for key in range(110) if key != 3}


class TestSettings:
    def settings(self, *changes) -> RocksDBSettings:
        configuration = Configuration()
        for key, value in changes:
            configuration.set_string(key, value)
        return StateBackendSettings.from_configuration(configuration).rocksdb

    def test_from_a_pyflink_backend_object(self):
        backend = EmbeddedRocksDBStateBackend()
        backend.set_db_storage_paths("/a", "/b")
        backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
        configuration = Configuration()
        backend.apply_to(configuration)
        settings = StateBackendSettings.from_configuration(configuration)
        assert settings.type == "rocksdb"
        assert settings.rocksdb.local_directories == ("/a", "/b")
        assert settings.rocksdb.effective["thread.num"] == 4

    def test_a_setting_wins_over_the_profile(self):
        profile = ("state.backend.rocksdb.predefined-options", "SPINNING_DISK_OPTIMIZED_HIGH_MEM")
        assert self.settings(profile).effective["block.cache-size"] == 256 << 20
        chosen = self.settings(profile, ("state.backend.rocksdb.block.cache-size", "16mb"))
        assert chosen.effective["block.cache-size"] == 16 << 20
        assert chosen.effective["use-bloom-filter"] is True

    @pytest.mark.parametrize("profile", PredefinedOptions)
    def test_every_profile_opens(self, profile):
        subtask = subtask_with(replace(SMALL, profile=profile.name))
        write_many(subtask, subtask.state(value_of()))
        assert subtask.backend.number_of_entries() == 100

    def test_every_tuning_is_taken(self):
        subtask = subtask_with(
            self.settings(
                ("state.backend.rocksdb.object-cache.size", "10"),
                ("state.backend.rocksdb.compaction.style", "universal"),
                ("state.backend.rocksdb.compaction.level.use-dynamic-size", "true"),
                ("state.backend.rocksdb.compaction.level.target-file-size-base", "8mb"),
                ("state.backend.rocksdb.compaction.level.max-size-level-base", "64mb"),
                ("state.backend.rocksdb.writebuffer.number-to-merge", "2"),
                ("state.backend.rocksdb.files.open", "100"),
                ("state.backend.rocksdb.use-bloom-filter", "true"),
                ("state.backend.rocksdb.options-factory", f"{__name__}:change_options"),
            )
        )
        write_many(subtask, subtask.state(value_of()))
        assert subtask.backend.number_of_entries() == 100
        assert changed_options

    @pytest.mark.parametrize(
        ("key", "value", "hint"),
        [
            ("compaction.style", "FIFO", "LEVEL or UNIVERSAL"),
            ("object-cache.size", "0", "at least 1"),
            ("options-factory", "no.such:thing", "not an importable"),
            ("predefined-options", "FLOPPY", "FLASH_SSD_OPTIMIZED"),
        ],
    )
    def test_refusals(self, key, value, hint):
        with pytest.raises(ConfigurationError, match=hint):
            self.settings((f"state.backend.rocksdb.{key}", value))

    def test_a_missing_package_says_how_to_install_it(self, monkeypatch):
        def missing(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        monkeypatch.setattr(rocksdb_settings.importlib, "import_module", missing)
        configuration = Configuration().set_string("state.backend.type", "rocksdb")
        with pytest.raises(ConfigurationError, match=r"pip install rocksdict"):
            StateBackendSettings.from_configuration(configuration)
        configuration.set_string("state.backend.type", "hashmap")
        StateBackendSettings.from_configuration(configuration)


changed_options: list[object] = []


def change_options(options):
    changed_options.append(options)
    return options
