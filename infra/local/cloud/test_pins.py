"""Asks the package index whether every pinned Python package, and every package that it depends on, can be installed on
every supported platform and Python version.

    test_pins.py

Exits with 75 and a reason if the index cannot be asked. A Python version is checked by its first release: if a package
excludes a later one, pip takes another version of the package there. `FANFOLD_UV` is the program uv, which resolves for
other platforms (pip evaluates the markers of the machine that it runs on). Its variables name the index.
"""

import functools
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

HERE = pathlib.Path(__file__).resolve().parent
IMPOSSIBLE = 75
# Indexes and what stands before them fail for a moment. Seconds before each further try:
PAUSES = (2, 10, 30)
PYTHONS = [(3, minor) for minor in range(11, 16)]
# The newest Python of the environments that are not for all of them. `Tools` in src/base/tools.rs has it, too.
NEWEST = {"requirements-sam.txt": (3, 14)}
# The oldest systems that are supported: Debian 12 has glibc 2.36.
GLIBC_MINOR, MACOS = 36, (13, 0)

# Packages without a wheel for some platforms or Python versions, and the reason why they can be built from source.
FROM_SOURCE = {
    "pyyaml": "pure Python, where libyaml and a C compiler are missing",
    "watchdog": "C, for which cargo needs the same compiler on a Mac; for the SAM CLI alone",
    "pycares": "C, for which cargo needs the same compiler; for checkov alone",
    "lazy-object-proxy": "C, for which cargo needs the same compiler on a Mac; for openapi-spec-validator alone",
    "orjson": "Rust, which cargo has, where glibc is older than 2.39; for checkov alone",
}


def manylinux(machine: str) -> list[str]:
    names = [f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC_MINOR, 4, -1)]
    older = ["manylinux2014"] + ["manylinux2010", "manylinux1"] * (machine == "x86_64")
    return names + [f"{name}_{machine}" for name in older] + [f"linux_{machine}"]


# (sys_platform, platform_machine) and the platforms of wheels
PLATFORMS = {
    ("linux", "x86_64"): manylinux("x86_64"),
    ("linux", "aarch64"): manylinux("aarch64"),
    ("darwin", "x86_64"): list(mac_platforms(MACOS, "x86_64")),
    ("darwin", "arm64"): list(mac_platforms(MACOS, "arm64")),
}


class Machine:
    """A platform with a Python."""

    def __init__(self, platform: tuple[str, str], python: tuple[int, int]):
        system, machine = platform
        version = ".".join(map(str, python))
        self.name = f"Python {version} on {system} {machine}"
        self.environment = {
            "python_version": version,
            "python_full_version": f"{version}.0",
            "sys_platform": system,
            "platform_machine": machine,
            "platform_system": "Linux" if system == "linux" else "Darwin",
            "os_name": "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }
        interpreter = f"cp{python[0]}{python[1]}"
        tags = cpython_tags(python, platforms=PLATFORMS[platform])
        self.tags = {*tags, *compatible_tags(python, interpreter, PLATFORMS[platform])}

    def needs(self, package: dict) -> bool:
        return "marker" not in package or Marker(package["marker"]).evaluate(self.environment)

    def has(self, wheels: list[tuple[str, frozenset[Tag]]]) -> bool:
        """Whether pip would install one of the wheels, by their tags and the Pythons that they accept."""
        return any(self.accepts(pythons) and not self.tags.isdisjoint(tags) for pythons, tags in wheels)

    def accepts(self, pythons: str) -> bool:
        return SpecifierSet(pythons).contains(self.environment["python_full_version"], prereleases=True)


class Unreachable(Exception):
    """The index has given no answer that says anything about the pins."""


def is_unreachable(said: str) -> bool:
    """Whether uv had no answer from the index. A package that the index does not have is a failure of the pins."""
    reasons = (
        "error sending request",
        "dns error",
        "timed out",
        "connection refused",
        "connection reset",
        "connection closed",
        "http status server error",
        "429 too many requests",
        "error decoding response body",
        "returned a 403 forbidden",  # a proxy before the index
    )
    return any(reason in said.lower() for reason in reasons)


def asked(question, *arguments, pauses=PAUSES):
    """What the index answers, after further tries if need be."""
    for pause in (*pauses, None):
        try:
            return question(*arguments)
        except Unreachable as why:
            if pause is None:
                impossible(why)
            time.sleep(pause)


def impossible(why: object) -> None:
    print(f"the package index cannot be asked: {why}")
    sys.exit(IMPOSSIBLE)


def files_of(index: str, package: str) -> list[dict]:
    """The files of a package in an index; none if it does not have the package."""
    url = f"{index.rstrip('/')}/{package}/"
    ask = urllib.request.Request(url, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    trusted = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE"))
    try:
        with urllib.request.urlopen(ask, timeout=60, context=trusted) as answer:
            return json.load(answer)["files"]
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return []
        if error.code in (403, 429) or error.code >= 500:
            raise Unreachable(f"{package}: it answers {error.code}") from error
        raise SystemExit(f"{package}: the package index answers {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unreachable(f"{package}: {error}") from error


@functools.cache
def pythons_of(package: str) -> dict[str, str]:
    """Every file of a package in the indexes, with the Pythons that it accepts. uv does not say: it ignores upper bounds,
    for which pip refuses to install a package."""

    def ask() -> dict[str, str]:
        indexes = [os.environ.get("UV_DEFAULT_INDEX", "https://pypi.org/simple"), *os.environ.get("UV_INDEX", "").split()]
        files = [file for index in indexes for file in files_of(index, package)]
        if not files:
            raise Unreachable(f"{package}: it has files for uv, and none for this program")
        return {file["filename"]: file.get("requires-python") or "" for file in files}

    return asked(ask)


def resolved(requirements: pathlib.Path, lock: pathlib.Path) -> list[dict]:
    """Every package that the requirements need on any supported machine, with its files in the index."""
    oldest = ".".join(map(str, PYTHONS[0]))
    command = [os.environ["FANFOLD_UV"], "pip", "compile", "--quiet", "--no-config", "--universal", "--python-version", oldest]
    command += ["--format", "pylock.toml", "--output-file", lock, requirements]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        if is_unreachable(ended.stderr):
            raise Unreachable(next(line.strip() for line in ended.stderr.splitlines() if line.strip()))
        raise SystemExit(f"{requirements.name} cannot be resolved: {ended.stderr.strip()}")
    return tomllib.loads(lock.read_text()).get("packages", [])


def file_name(file: dict) -> str:
    return file.get("name") or urllib.parse.unquote(file["url"].rpartition("/")[2])


def wheels_of(package: dict, pythons: dict[str, str]) -> list[tuple[str, frozenset[Tag]]]:
    """For each wheel, the Pythons that it accepts and its tags."""
    names = [file_name(wheel) for wheel in package.get("wheels", [])]
    return [(pythons[name], parse_wheel_filename(name)[3]) for name in names if name in pythons]


def missing(packages: list[dict], machines: list[Machine], pythons_of=pythons_of) -> tuple[dict, list[str]]:
    """By package, the machines that need it, have no wheel of it and can build it from its sources; and a line for each
    package that some machines cannot install at all."""
    built, wrong = {}, []
    for package in packages:
        name, pythons = package["name"], pythons_of(package["name"])
        wheels = wheels_of(package, pythons)
        without = [each for each in machines if each.needs(package) and not each.has(wheels)]
        # a file that the index does not list cannot be installed
        sources = pythons.get(file_name(package["sdist"])) if "sdist" in package else None
        buildable = [each for each in without if sources is not None and each.accepts(sources)]
        if name in FROM_SOURCE and buildable:
            built.setdefault(name, []).extend(each.name for each in buildable)
            without = [each for each in without if each not in buildable]
        if without:
            where = ", ".join(each.name for each in without)
            wrong.append(f"{name} {package['version']} cannot be installed on {where}")
    return built, wrong


def check_this_program() -> None:
    """Fails if a package that cannot be installed is not found."""
    machines = [Machine(("linux", "x86_64"), python) for python in PYTHONS]
    wheel, sdist = {"name": "a-1-py3-none-any.whl"}, {"name": "a-1.tar.gz"}
    for name, files, pythons, expected in (
        ("a", {"wheels": [wheel]}, ">=3.9", []),
        ("a", {"wheels": [wheel]}, ">=3.9,<3.15", ["3.15"]),
        ("a", {"wheels": [], "sdist": sdist}, ">=3.9", ["3.11", "3.12", "3.13", "3.14", "3.15"]),
        ("pyyaml", {"wheels": [], "sdist": sdist}, ">=3.9", []),
        ("pyyaml", {"wheels": [], "sdist": sdist}, "<3.14", ["3.14", "3.15"]),
        ("pyyaml", {"wheels": []}, "", ["3.11", "3.12", "3.13", "3.14", "3.15"]),
    ):
        listed = {"a-1-py3-none-any.whl": pythons, "a-1.tar.gz": pythons}
        _, wrong = missing([{"name": name, "version": "1", **files}], machines, lambda _: listed)
        found = re.findall(r"Python (\S+)", " ".join(wrong))
        assert found == expected, (name, files, pythons, found)
    assert is_unreachable("error: error sending request for url (https://pypi.org/simple/a/)")
    assert is_unreachable("error: HTTP status server error (502 Bad Gateway) for url (https://pypi.org/simple/a/)")
    assert not is_unreachable("error: Failed to fetch: `https://pypi.org/simple/connect/`: 404 Not Found")
    answers = iter([Unreachable("once"), Unreachable("twice"), None])

    def question() -> str:
        if answer := next(answers):
            raise answer
        return "an answer"

    assert asked(question, pauses=(0, 0)) == "an answer"


def main() -> int:
    check_this_program()
    built, wrong = set(), []
    with tempfile.TemporaryDirectory(prefix="fanfold-") as folder:
        for requirements in sorted(HERE.glob("requirements-*.txt")):
            newest = NEWEST.get(requirements.name, PYTHONS[-1])
            pythons = [python for python in PYTHONS if python <= newest]
            machines = [Machine(platform, python) for platform in PLATFORMS for python in pythons]
            packages = asked(resolved, requirements, pathlib.Path(folder) / "pylock.toml")
            from_source, cannot = missing(packages, machines)
            print(f"{requirements.name}: {len(packages)} packages on {len(machines)} kinds of machines")
            for name, where in from_source.items():
                built.add(name)
                print(f"  {name} is built from source ({FROM_SOURCE[name]}): {', '.join(where)}")
            wrong += [f"{requirements.name}: {line}" for line in cannot]
    for name in sorted(FROM_SOURCE.keys() - built):
        print(f"every machine has a wheel of {name} now: it can be removed from FROM_SOURCE")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
