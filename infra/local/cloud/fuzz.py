"""Fuzzes the deployed API with Schemathesis, which generates requests from the API description and runs all checks.

FANFOLD_URL names the API, FANFOLD_FUZZ_TOKENS the callers: the first one sends the requests, the others
have profiles and posts that requests can find. FANFOLD_FUZZ_SEED is the seed. fuzz_hooks.py changes some requests.
The run also fails if an operation was never answered with 2xx, or if too few valid requests were.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse
import urllib.request

# This check takes …/likes for a part of a …/like that was deleted, and …/followers for one of …/follow.
WRONG_CHECK = "use_after_free"
# Random requests for each operation and phase. A run takes about a minute.
EXAMPLES = 20
# The percentage of valid requests that must be answered with 2xx.
ACCEPTED_PERCENT_MIN = 25


def call(url: str, token: str, method: str, path: str, body: dict | None = None) -> dict:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null")


# The answers to a valid request that Schemathesis expects by default.
ACCEPTED_STATUSES = ["2xx", "3xx", "401", "403", "404", "409", "412", "429", "5xx"]
# Operations that also give other answers to requests that match the description. Users cannot follow themselves. Times
# have a range, which fuzz_hooks.py keeps in most requests; not every text with the pattern of `every` is a duration; a
# payload may be too large. Not every text with the pattern of a day is one, a board has a fixed number of scores, and some
# settings and parameters exclude each other. Not every text is a tag. A text may have a character of very many code points. A check in fuzz_hooks.py
# allows no other reasons.
ALSO_EXPECTED = {
    "PUT /v1/me": ["422"],
    "PUT /v1/users/{user}/follow": ["422"],
    "DELETE /v1/users/{user}/follow": ["422"],
    "POST /v1/posts": ["400", "422"],
    "PATCH /v1/posts/{id}": ["400", "422"],
    "PATCH /v1/scheduled/{id}": ["400", "422"],
    "PUT /v1/timers/{name}": ["400", "422"],
    "PUT /v1/leaderboards/{board}": ["400", "422"],
    "GET /v1/tags/{tag}": ["400"],
    "GET /v1/tags/{tag}/posts": ["400"],
    "PUT /v1/tags/{tag}/follow": ["400"],
    "DELETE /v1/tags/{tag}/follow": ["400"],
    "GET /v1/leaderboards/{board}": ["400"],
    "GET /v1/leaderboards/{board}/members/{member}": ["400"],
    "GET /v1/leaderboards/{board}/around/{member}": ["400"],
    "GET /v1/leaderboards/{board}/percentiles/{percentile}": ["400"],
    "POST /v1/leaderboards/{board}/members": ["400", "422"],
    "POST /v1/leaderboards/{board}/standings": ["400", "422"],
    "PUT /v1/leaderboards/{board}/members/{member}": ["400", "422"],
    "PATCH /v1/leaderboards/{board}/members/{member}": ["400", "422"],
}
# Feeds and other lists, by their paths. Their cursors name the list and its owner.
FEEDS = ("/v1/timeline", "/v1/users/{user}/posts")
LISTS = (*FEEDS, "/v1/users/{user}/followers", "/v1/users/{user}/following", "/v1/scheduled", "/v1/timers")
# What follows the name of a board in paths.
BOARD_PATHS = ("members", "members/{member}", "around/{member}", "standings", "percentiles/{percentile}")
# Scheduled posts, timers and boards that requests can find. Some requests remove them.
DUE_ITEMS = 40


def prepare(url: str, tokens: list[str], seed: int) -> dict[str, list[str]]:
    """Makes profiles, relations and posts. Returns the values that name them in requests."""
    profiles = [
        call(url, token, "PUT", "/v1/me", {"handle": f"fuzz_{seed}_{number}", "name": f"Fuzz {number}"})
        for number, token in enumerate(tokens)
    ]
    caller, *others = tokens
    owner = profiles[0]["id"]
    # the caller's handle changes while it is fuzzed
    users = [owner] + [name for user in profiles[1:] for name in (user["id"], f"@{user['handle']}")]
    known = {"owner": [owner], "users": users, "posts": []}
    for token in others:
        call(url, token, "PUT", f"/v1/users/{owner}/follow")
        text = {"text": f"Here before @{profiles[0]['handle']}, the #fuzzer: https://example.com/."}
        known["posts"].append(call(url, token, "POST", "/v1/posts", text)["id"])
    for user in profiles[1:]:
        call(url, caller, "PUT", f"/v1/users/{user['id']}/follow")
    for number in range(12):
        known["posts"].append(call(url, caller, "POST", "/v1/posts", {"text": f"Post {number}."})["id"])
    later = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)).isoformat()
    known["scheduled"], known["timers"] = [], [f"timer-{number}" for number in range(DUE_ITEMS)]
    for number, name in enumerate(known["timers"]):
        post = {"text": f"Later {number}.", "publish_at": later}
        known["scheduled"].append(call(url, caller, "POST", "/v1/posts", post)["id"])
        call(url, caller, "PUT", f"/v1/timers/{name}", {"due_at": later})
    known["boards"] = [f"board {number}" for number in range(DUE_ITEMS)]
    known["members"] = [f"member {number}" for number in range(8)]
    # those that requests delete: others would soon find no board
    known["doomed"] = [f"doomed {number}" for number in range(DUE_ITEMS)]
    for name in known["boards"] + known["doomed"]:
        path = "/v1/leaderboards/" + urllib.parse.quote(name)
        call(url, caller, "PUT", path, {})
        changes = [{"member": member, "set": [str(place)]} for place, member in enumerate(known["members"])]
        call(url, caller, "POST", f"{path}/members", {"changes": changes})
    for path in LISTS:
        page = call(url, caller, "GET", path.replace("{user}", owner) + "?limit=1")
        known[path] = [page[name] for name in ("next_cursor", "newest_cursor") if page.get(name)]
    return known


def config(token: str, known: dict[str, list[str]]) -> str:
    """The configuration: many requests name existing users and posts. (A JSON string is a TOML string.)"""
    hooks = pathlib.Path(__file__).with_name("fuzz_hooks.py")
    lines = [f"hooks = {json.dumps(str(hooks))}", "[headers]", f"Authorization = {json.dumps(f'Bearer {token}')}"]
    lines += bindings("parameters", {"user": ("users", 0.5), "id": ("posts", 0.5)})
    for path in LISTS:
        lines += ["[[operations]]", f"include-path = {json.dumps(path)}"]
        names = {"cursor": (path, 0.8)}
        if path in FEEDS:
            names["newer_than"] = (path, 0.8)
        if "{user}" in path:
            names["user"] = ("owner", 0.8)
        lines += bindings("operations.parameters", names)
    for path, name, values in (("/v1/scheduled/{id}", "id", "scheduled"), ("/v1/timers/{name}", "name", "timers")):
        lines += ["[[operations]]", f"include-path = {json.dumps(path)}"]
        lines += bindings("operations.parameters", {name: (values, 0.8)})
    boards = "/v1/leaderboards/{board}"
    chosen = [("include-name", f"{method} {boards}") for method in ("GET", "PUT", "DELETE")]
    chosen += [("include-path", f"{boards}/{rest}") for rest in BOARD_PATHS]
    for by, value in chosen:
        lines += ["[[operations]]", f"{by} = {json.dumps(value)}"]
        names = {"board": ("doomed" if value.startswith("DELETE") else "boards", 0.8), "owner": ("owner", 0.8)}
        if "{member}" in value:
            names["member"] = ("members", 0.8)
        lines += bindings("operations.parameters", names)
    for operation, statuses in ALSO_EXPECTED.items():
        lines += ["[[operations]]", f"include-name = {json.dumps(operation)}",
                  "[operations.checks.positive_data_acceptance]",
                  f"expected-statuses = {json.dumps(ACCEPTED_STATUSES + statuses)}"]
    for name, values in known.items():
        lines += [f"[dictionaries.{json.dumps(name)}]", f"values = {json.dumps(values)}"]
    return "\n".join(lines) + "\n"


def bindings(table: str, names: dict[str, tuple[str, float]]) -> list[str]:
    """The lines that give each parameter a known value with a probability."""
    return [f"[{table}]"] + [
        f"{name} = {{ dictionary = {json.dumps(values)}, probability = {probability} }}"
        for name, (values, probability) in names.items()
    ]


def shortcomings(report: dict, operations: list[str]) -> list[str]:
    """The reasons why a run without a failure is not a success."""
    found = [] if report["complete"] else ["it is not complete"]
    accepted = valid = 0
    for operation in operations:
        phases = report["valid_rates"].get(operation, {}).values()
        counts = [sum(phase[name] for phase in phases)
                  for name in ("accepted", "unreachable", "conflicts", "rejected")]
        print(f"{operation}: {counts[0]} of {sum(counts)} valid requests were answered with 2xx")
        if counts[0] == 0:
            found.append(f"{operation} never answered with 2xx")
        accepted += counts[0]
        valid += sum(counts)
    if accepted * 100 < valid * ACCEPTED_PERCENT_MIN or accepted == 0:
        found.append(f"{accepted} of {valid} valid requests were answered with 2xx")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="for the report and the configuration")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    url, tokens = os.environ["FANFOLD_URL"], os.environ["FANFOLD_FUZZ_TOKENS"].split()
    seed = int(os.environ["FANFOLD_FUZZ_SEED"])
    again = f"FANFOLD_FUZZ_SEED={seed} cargo local test fuzz"
    print(f"seed {seed}; to repeat the run: {again}", flush=True)
    with urllib.request.urlopen(f"{url}/openapi.json", timeout=30) as answer:
        paths = json.load(answer)["paths"].items()
    # the route of the description is not fuzzed, because the fuzzer reads the description from it
    operations = [f"{method.upper()} {path}" for path, methods in paths for method in methods
                  if path != "/openapi.json"]
    settings, report = folder / "schemathesis.toml", folder / "report.json"
    settings.write_text(config(tokens[0], prepare(url, tokens, seed)))
    report.unlink(missing_ok=True)
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    status = subprocess.run(
        [program, "--config-file", settings, "run", f"{url}/openapi.json", "--url", url, "--checks", "all",
         "--exclude-checks", WRONG_CHECK,
         "--max-examples", str(EXAMPLES), "--seed", str(seed), "--request-timeout", "30",
         "--continue-on-failure", "--generation-database", "none", "--no-color",
         "--report", "json", "--report-json-path", report],
        cwd=folder,
    ).returncode
    if status != 0:
        print(f"the API failed checks, as reported above; to repeat the run: {again}")
        return 1
    found = shortcomings(json.loads(report.read_text()), operations)
    for shortcoming in found:
        print(f"the run is not valid: {shortcoming}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
