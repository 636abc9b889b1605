"""The user's modules, requirements and archives, made ready for the slots.

Everything is prepared on the machine of the job master, and local slots find it there by its path.
On a cluster `headrace.spark` gives the files to Spark, which brings them to every executor.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.files.scratch import ScratchDirectory

__all__ = ["PythonDependencies", "cache_directory", "prepare"]

_log = logging.getLogger(__name__)

_ON_THE_PATH = (".zip", ".whl", ".egg")
_SHOWN_LINES = 15


@dataclass(frozen=True)
class PythonDependencies:
    """What slots need besides what this process has.

    Attributes:
        python_path: Where slots look for modules first.
        last_python_path: Where they look last.
        working_directory: The current directory of slots, with the archives in it; None if there
            are none, then it is that of the executor.
    """

    python_path: tuple[str, ...] = ()
    last_python_path: tuple[str, ...] = ()
    working_directory: str | None = None
    scratch: ScratchDirectory | None = field(default=None, compare=False, repr=False)
    """What was made for the job alone."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Everything that other hosts need a copy of."""
        directory = () if self.working_directory is None else (self.working_directory,)
        return (*self.python_path, *self.last_python_path, *directory)

    def close(self) -> None:
        """The job is over: remove what was made for it alone."""
        if self.scratch is not None:
            self.scratch.remove()


def cache_directory() -> Path:
    """Where requirements are kept from job to job: `HEADRACE_CACHE_DIR`, or the user's cache."""
    given = os.environ.get("HEADRACE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    directory = Path(given) if given else Path(base) / "headrace"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigurationError(
            f"the cache directory {directory} cannot be created ({error}); set HEADRACE_CACHE_DIR "
            "to a writable directory"
        ) from error
    return directory


def prepare(configuration: Configuration, cache: Path | None = None) -> PythonDependencies:
    """Make ready what `python.files`, `python.requirements` and `python.archives` name.

    Args:
        configuration: The settings of the job.
        cache: Where to keep installed requirements; `cache_directory()` without it.

    Raises:
        ConfigurationError: A file is missing or of an unknown kind, or pip failed.
    """
    files: list[str] = configuration.get(options.PYTHON_FILES)
    requirements: str | None = configuration.get(options.PYTHON_REQUIREMENTS)
    archives: list[str] = configuration.get(options.PYTHON_ARCHIVES)
    if not files and not requirements and not archives:
        return PythonDependencies()
    cache = cache or cache_directory()
    first, last = import_paths(files, cache)
    if requirements:
        first.append(str(_install(requirements, cache)))
    if not archives:
        return PythonDependencies(tuple(first), tuple(last))
    scratch = ScratchDirectory("work")
    try:
        working_directory = _unpack_all(archives, scratch.path / "archives")
    except BaseException:
        scratch.remove()
        raise
    return PythonDependencies(tuple(first), tuple(last), str(working_directory), scratch)


def import_paths(files: Sequence[str], cache: Path | None = None) -> tuple[list[str], list[str]]:
    """Where `python.files` are imported from: what comes first on the path, and what last.

    Raises:
        ConfigurationError: A file is missing or of an unknown kind.
    """
    first: list[str] = []
    last: list[str] = []
    for file in files:
        found = _existing(file, options.PYTHON_FILES.key)
        _add_file(found, cache or cache_directory(), first, last)
    return first, last


def _existing(path: str, key: str) -> Path:
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    found = Path(path).expanduser().absolute()
    if not found.exists():
        raise ConfigurationError(f"{key}: there is no file {str(found)!r}", key=key, value=path)
    return found


# Files.


def _add_file(file: Path, cache: Path, first: list[str], last: list[str]) -> None:
    """Give a module or package its own directory, so that files beside it are not importable."""
    if file.is_dir():
        if (file / "__init__.py").exists():
            first.append(str(_linked(file, cache)))
            # PyFlink puts the directory itself on the path.
            last.append(str(file))
        else:
            first.append(str(file))
    elif file.suffix == ".py":
        first.append(str(_copied(file, cache)))
    elif file.suffix in _ON_THE_PATH:
        first.append(str(file))
    else:
        raise ConfigurationError(
            f"{options.PYTHON_FILES.key}: {str(file)!r} is neither a .py file, a directory, nor a "
            f"{', '.join(_ON_THE_PATH)} archive; for data files use add_python_archive() or "
            "register_cached_file()",
            key=options.PYTHON_FILES.key,
            value=str(file),
        )


def _copied(module: Path, cache: Path) -> Path:
    """A directory with this module alone, as it is now."""
    content = module.read_bytes()
    directory = cache / "files" / _digest([module.name.encode(), content])
    if not (directory / module.name).exists():
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / f".{module.name}.{os.getpid()}"
        part.write_bytes(content)
        part.replace(directory / module.name)
    return directory


def _linked(package: Path, cache: Path) -> Path:
    """A directory with a link to this package alone."""
    directory = cache / "packages" / _digest([os.fsencode(package)])
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (directory / package.name).symlink_to(package, target_is_directory=True)
    return directory


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]


# Requirements.


def _install(value: str, cache: Path) -> Path:
    """The directory with the packages of a requirements file; pip runs once for one content."""
    key = options.PYTHON_REQUIREMENTS.key
    name, _, packages_name = value.partition("#")
    requirements = _existing(name, key)
    packages = _existing(packages_name, key) if packages_name else None
    home = cache / "requirements"
    home.mkdir(parents=True, exist_ok=True)
    target = home / _digest(_content_of(requirements, packages))
    with _locked(target.with_suffix(".lock")):
        if not target.exists():
            part = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=home))
            try:
                _pip_install(requirements, packages, part)
                part.rename(target)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    return target


def _content_of(requirements: Path, packages: Path | None) -> Iterator[bytes]:
    yield sys.version.encode()
    yield requirements.read_bytes()
    for package in sorted(packages.iterdir()) if packages else ():
        about = package.stat()
        yield f"{package} {about.st_size} {about.st_mtime_ns}".encode()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other programs out that install the same."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _pip_install(requirements: Path, packages: Path | None, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--target", str(target), "-r", str(requirements)]
    if packages is not None:
        command += ["--no-index", "--find-links", str(packages)]
    _log.info("installing %s for the slots", requirements)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        shown = "\n".join(done.stdout.strip().splitlines()[-_SHOWN_LINES:])
        raise ConfigurationError(
            f"the requirements in {requirements} could not be installed; pip ended with code "
            f"{done.returncode} and said:\n{shown}",
            key=options.PYTHON_REQUIREMENTS.key,
            value=str(requirements),
        )


# Archives.


def _unpack_all(archives: Iterable[str], working_directory: Path) -> Path:
    """Make a working directory, with each archive in a directory of its own."""
    for value in archives:
        name, _, target = value.partition("#")
        archive = _existing(name, options.PYTHON_ARCHIVES.key)
        directory = working_directory / (target or archive.name)
        if not directory.resolve().is_relative_to(working_directory.resolve()):
            raise _bad_archive(archive, f"its target directory {target!r} must be relative")
        directory.mkdir(parents=True, exist_ok=True)
        _unpack(archive, directory)
    return working_directory


def _unpack(archive: Path, directory: Path) -> None:
    try:
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, directory)
        elif tarfile.is_tarfile(archive):
            _unpack_tar(archive, directory)
        else:
            raise _bad_archive(archive, "it is neither a zip nor a tar archive")
    except (zipfile.BadZipFile, tarfile.TarError, OSError) as error:
        raise _bad_archive(archive, str(error)) from error


def _unpack_zip(archive: Path, directory: Path) -> None:
    """With permissions and links, so that an environment in a zip file can be run.

    A link may lead out of the directory, as that to the interpreter of an environment does, but
    nothing is written through one.
    """
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            mode = info.external_attr >> 16
            is_link = stat.S_ISLNK(mode)
            target = directory / info.filename
            written = target.parent if is_link else target
            _check_inside(written, directory, archive, info.filename)
            if is_link:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(os.fsdecode(file.read(info)))
                continue
            path = file.extract(info, directory)
            if mode & 0o777 and not info.is_dir():
                os.chmod(path, mode & 0o777)


def _unpack_tar(archive: Path, directory: Path) -> None:
    """With permissions and links, as a zip file is; hard links may not lead out.

    Python's own filters for this are not in every release of 3.11, and the one that refuses all
    that leads out refuses links to an interpreter, too.
    """
    with tarfile.open(archive) as file:
        for member in file:
            target = directory / member.name
            written = [target.parent if member.issym() else target]
            if member.islnk():
                written.append(directory / member.linkname)
            for path in written:
                _check_inside(path, directory, archive, member.name)
            member.mode &= 0o755
            member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
            # Directories stay writable for what comes into them.
            file.extract(member, directory, set_attrs=not member.isdir())


def _check_inside(path: Path, directory: Path, archive: Path, name: str) -> None:
    if not path.resolve().is_relative_to(directory.resolve()):
        raise _bad_archive(archive, f"{name!r} is outside it")


def _bad_archive(archive: Path, why: str) -> ConfigurationError:
    key = options.PYTHON_ARCHIVES.key
    return ConfigurationError(
        f"{key}: {archive} cannot be unpacked: {why}", key=key, value=str(archive)
    )
