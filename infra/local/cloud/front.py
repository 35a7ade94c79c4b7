"""Serves the deployed API at the root of a separate port, as API Gateway does at its host name.

The local cloud serves every API at /_aws/execute-api/<id>/<stage> of one port. This module adds that prefix to the path
of each request to the API's port. Requests and answers are otherwise passed on unchanged, in the same process.

It also makes the local cloud choose the route before it decodes `%2F` in a path, so that a function sees that the path has
another route than the gateway chose. Whether API Gateway does the same could not be tried.
"""

import contextvars
import json
import pathlib
import re
import socket

STAGE = "$default"
NOT_YET = json.dumps({"message": "The stack is not deployed yet"}).encode()


class Front:
    """An ASGI application around the local cloud's. `file` holds the API's id, as soon as there is one."""

    def __init__(self, app, port: int, file: pathlib.Path):
        self.app, self.port, self.file = app, port, file
        self.prefix = None

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http" or scope["server"][1] != self.port:
            return await self.app(scope, receive, send)
        prefix = self.prefix or self.find_prefix()
        if prefix is None:
            return await not_yet(send)
        moved = scope | {"path": prefix + scope["path"], "raw_path": prefix.encode() + scope["raw_path"]}
        return await self.app(moved, receive, send)

    def find_prefix(self) -> str | None:
        try:
            api = self.file.read_text().strip()
        except FileNotFoundError:
            return None
        self.prefix = f"/_aws/execute-api/{api}/{STAGE}" if api else None
        return self.prefix


async def not_yet(send) -> None:
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": NOT_YET})


SENT = contextvars.ContextVar("sent", default="")


def routed_path(sent: str, decoded: str, decode) -> str:
    """The path to choose a route by: decoded, but for `%2F`. `sent` is the whole path, with the prefix of the API."""
    if "%2f" not in sent.lower():
        return decoded
    path = re.sub("^/_aws/execute-api/[^/]+/[^/]+", "", sent)
    return "/" + "%2F".join(decode(part) for part in re.split("%2f", path, flags=re.IGNORECASE)).lstrip("/")


def choose_routes_before_decoding(gateway) -> None:
    """Changes the module of the local cloud for HTTP APIs."""
    decode, match = gateway.decode_http_api_path, gateway._match_route

    def decode_and_keep(raw_path: str) -> str:
        SENT.set(raw_path)
        return decode(raw_path)

    def match_as_sent(api_id, method, path):
        return match(api_id, method, routed_path(SENT.get(), path, decode))

    gateway.decode_http_api_path, gateway._match_route = decode_and_keep, match_as_sent


def addresses(port: int) -> list[str]:
    """The addresses of localhost: 127.0.0.1, and ::1 if the machine has it."""
    found = [f"127.0.0.1:{port}"]
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
        found.append(f"[::1]:{port}")
    except OSError:
        pass  # a machine without IPv6
    return found


def install(port: int, file: pathlib.Path) -> None:
    """Makes the local cloud's server listen on the API's port as well."""
    import hypercorn.asyncio

    from ministack.services import apigateway

    choose_routes_before_decoding(apigateway)
    serve = hypercorn.asyncio.serve

    async def serve_both(app, config, **options):
        config.bind = [*config.bind, *addresses(port)]
        return await serve(Front(app, port, file), config, **options)

    hypercorn.asyncio.serve = serve_both
