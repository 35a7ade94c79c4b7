"""The servers of the tests in Python. Each runs in a process group of its own, on a free port of 127.0.0.1, and ends
when the tests end for any reason."""

import atexit
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import parent

HERE = pathlib.Path(__file__).resolve().parent
INFRA = HERE.parent.parent
REGION = "us-east-1"


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def wait_for(what: str, ready, within_s: float = 20):
    """Calls `ready` until it returns a true value, and returns that value."""
    end = time.monotonic() + within_s
    while True:
        if value := ready():
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {within_s:.0f} s")
        time.sleep(0.05)


class Server:
    """A program in the background."""

    def __init__(self, name: str, command: list, log: pathlib.Path, environment: dict[str, str] | None = None):
        self.name, self.log = name, log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=parent.ask_the_kernel,
            )
        atexit.register(self.stop)

    def ready(self, answers) -> None:
        def ended_or_ready():
            if self.process.poll() is not None:
                last = self.log.read_text(errors="replace").strip().rpartition("\n")[2]
                raise RuntimeError(f"{self.name} ended when it started: {last}")
            return answers()

        wait_for(self.name, ended_or_ready, 30)

    def stop(self) -> None:
        # its own group, which has the id of its first process
        for kind in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, kind)
                self.process.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


class Cloud(Server):
    """The local cloud. Boto3 finds it through environment variables."""

    def __init__(self, folder: pathlib.Path):
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ |= {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        ports = {"GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", "MINISTACK_HOST": "127.0.0.1"}
        # the cloud unpacks functions here, and does not remove them
        temporary = folder / f"cloud-{port}"
        temporary.mkdir(parents=True, exist_ok=True)
        environment = os.environ | ports | {"IOT_MTLS_ENABLED": "0", "TMPDIR": str(temporary)}
        for name in ("FANFOLD_CALLS", "FANFOLD_API_PORT"):
            environment.pop(name, None)
        super().__init__("the local cloud", [sys.executable, HERE / "serve.py"], folder / "cloud.log", environment)
        self.ready(self.answers)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False


class Valkey(Server):
    """A Valkey server. Its user `functions` has the access string of infra/cache.yaml."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path):
        self.port = free_port()
        access = re.search(r'AccessString: "?(on [^"\n]+)', (INFRA / "cache.yaml").read_text())[1]
        command = [program, "--bind", "127.0.0.1", "--port", self.port, "--save", "", "--appendonly", "no"]
        command += ["--user", "functions", "nopass", *access.split()]
        super().__init__("Valkey", command, folder / f"valkey-{self.port}.log")
        self.ready(self.answers)

    @property
    def url(self) -> str:
        return f"redis://functions@127.0.0.1:{self.port}"

    def answers(self) -> bool:
        try:
            return self.ask("PING") == "PONG"
        except OSError:
            return False

    def keys(self) -> set[str]:
        return set(self.ask("KEYS", "*"))

    def ask(self, *words: str):
        """One command, and its answer: a text or a list of texts."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
            sent = b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)
            connection.sendall(b"*%d\r\n%s" % (len(words), sent))
            return answer_of(connection.makefile("rb"))


def answer_of(stream):
    head = stream.readline().decode().rstrip("\r\n")
    kind, rest = head[:1], head[1:]
    if kind == "*":
        return [answer_of(stream) for _ in range(int(rest))]
    if kind == "$":
        return stream.read(int(rest) + 2)[:-2].decode()
    if kind == "-":
        raise RuntimeError(rest)
    return rest
