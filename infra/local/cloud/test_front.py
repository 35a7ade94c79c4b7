"""Tests the API's port: the requests that reach the local cloud, and the answers; and user pools. No server is needed.

    test_front.py
"""

import asyncio
import pathlib
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.parse

import results
import front
import user_pools
from front import Front, addresses

PORT = 4270
HEADERS = [(b"x-request-id", b"1"), (b"set-cookie", b"a"), (b"set-cookie", b"b")]


async def cloud(scope, receive, send) -> None:
    """Answers with the path that it was asked for."""
    await send({"type": "http.response.start", "status": 201, "headers": HEADERS})
    await send({"type": "http.response.body", "body": scope["path"].encode() + b" " + scope["raw_path"]})


def ask(front: Front, path: str, raw: bytes, port: int = PORT) -> tuple[int, list, bytes]:
    sent = []

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "server": ("127.0.0.1", port), "path": path, "raw_path": raw}
    asyncio.run(front(scope, None, send))
    return sent[0]["status"], sent[0]["headers"], sent[1]["body"]


class Ports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fanfold-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "api-id"
        self.front = Front(cloud, PORT, self.file)

    def test_the_api_is_at_the_root_of_its_port(self):
        self.file.write_text("abc123")
        answer = ask(self.front, "/v1/posts/a/b", b"/v1/posts/a%2Fb")
        prefix = b"/_aws/execute-api/abc123/$default"
        self.assertEqual(answer, (201, HEADERS, prefix + b"/v1/posts/a/b " + prefix + b"/v1/posts/a%2Fb"))

    def test_no_path_leads_to_another_service(self):
        self.file.write_text("abc123")
        for path in ("/_ministack/reset", "/_aws/execute-api/other/$default/", "//", "*"):
            body = ask(self.front, path, path.encode())[2]
            self.assertTrue(body.startswith(b"/_aws/execute-api/abc123/$default"), path)

    def test_the_other_port_is_left_alone(self):
        self.file.write_text("abc123")
        self.assertEqual(ask(self.front, "/", b"/", PORT + 1), (201, HEADERS, b"/ /"))

    def test_it_waits_for_the_stack(self):
        self.assertEqual(ask(self.front, "/", b"/")[0], 503)
        self.file.write_text("abc123")
        self.assertEqual(ask(self.front, "/", b"/")[0], 201)

    def test_a_separator_that_was_encoded_is_none_for_the_choice_of_a_route(self):
        class Gateway:
            @staticmethod
            def decode_http_api_path(path):
                return urllib.parse.unquote(path)

            @staticmethod
            def _match_route(api_id, method, path):
                return path

        front.choose_routes_before_decoding(Gateway)
        for sent, chosen in [
            ("/_aws/execute-api/a/$default/v1/b/x%2Fy%20z", "/v1/b/x%2Fy z"),
            ("/_aws/execute-api/a/$default/v1/b/x%2fy/c%2F", "/v1/b/x%2Fy/c%2F"),
            ("/_aws/execute-api/a/$default/v1/%62", "/v1/b"),
        ]:
            decoded = Gateway.decode_http_api_path(sent).removeprefix("/_aws/execute-api/a/$default")
            self.assertEqual(Gateway._match_route("a", "GET", decoded), chosen, sent)

    def test_it_listens_on_this_machine_alone(self):
        self.assertIn(addresses(PORT), (["127.0.0.1:4270"], ["127.0.0.1:4270", "[::1]:4270"]))


class UserPools(unittest.TestCase):
    def test_requests_at_once_do_not_meet(self):
        inside, most = [], []

        def handler(data):
            inside.append(data)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()
            return (200, {}, b"{}")

        with unittest.mock.patch.object(user_pools, "cognito") as cognito:
            cognito._UNSIGNED_IDP_ACTIONS = []
            cognito._pool_for_client.return_value = (None, None)
            cognito._run_idp_handler = lambda handler, action, data: handler(data)
            user_pools.install("1")
            run = cognito._run_idp_handler
            requests = [threading.Thread(target=run, args=(handler, "SignUp", {})) for _ in range(8)]
            for request in requests:
                request.start()
            for request in requests:
                request.join()
        self.assertEqual(most, [1] * 8)


if __name__ == "__main__":
    sys.exit(results.run(Ports, UserPools))
