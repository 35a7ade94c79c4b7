"""Uses the API through a client that openapi-python-client makes from its description. FANFOLD_URL names the API,
FANFOLD_TOKENS the tokens of two users."""

import os
import time
from typing import TypeVar

from fanfold_client import AuthenticatedClient
from fanfold_client.api.feeds import timeline
from fanfold_client.api.leaderboards import add_to_scores, put_board, read_member, set_scores
from fanfold_client.api.likes import like
from fanfold_client.api.posts import publish, read
from fanfold_client.api.users import follow, get_user, put_me
from fanfold_client.models import AddScores, BoardSettings, FeedView, MemberView, NewProfile, ProblemBody
from fanfold_client.models import NewPost, PostView
from fanfold_client.models import SetScores, StandingView, UserView
from fanfold_client.types import UNSET, Response

Kind = TypeVar("Kind")

URL = os.environ["FANFOLD_URL"]


def connect(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=URL, token=token)


def got(kind: type[Kind], value: object) -> Kind:
    """The body of an answer, which must be of this kind."""
    assert isinstance(value, kind), value
    return value


def problem(answer: Response[Kind]) -> ProblemBody:
    """The body of an error of the API, which is a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer
    return got(ProblemBody, answer.parsed)


def feed(client: AuthenticatedClient) -> list[PostView]:
    """The whole home feed, page by page."""
    items: list[PostView] = []
    cursor: str | None = None
    while True:
        found = timeline.sync(client=client, limit=2, cursor=UNSET if cursor is None else cursor)
        page = got(FeedView, found)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


def main() -> None:
    ash, birch = (connect(token) for token in os.environ["FANFOLD_TOKENS"].split())

    # profiles, and an error
    got(UserView, put_me.sync(client=ash, body=NewProfile(handle="py_ash", name="Ash")))
    refused = put_me.sync_detailed(client=birch, body=NewProfile(handle="py_ash", name="Birch"))
    taken = problem(refused)
    assert (refused.status_code, taken.type_) == (409, "/problems/handle-taken"), refused
    got(UserView, put_me.sync(client=birch, body=NewProfile(handle="py_birch", name="Birch")))

    # posts, a follow and a like
    posts: list[str] = []
    for text in ("one", "two", "three"):
        post = got(PostView, publish.sync(client=birch, body=NewPost(text=text)))
        posts.insert(0, post.id)
    assert follow.sync_detailed("@py_birch", client=ash).status_code == 204
    assert like.sync_detailed(posts[0], client=ash).status_code == 204
    assert got(UserView, get_user.sync("@py_birch", client=ash)).you_follow
    assert got(PostView, read.sync(posts[0], client=ash)).liked

    # the feed; a follow changes it a moment later
    ids: list[str] = []
    for _ in range(300):
        ids = [post.id for post in feed(ash)]
        if len(ids) == len(posts):
            break
        time.sleep(0.1)
    assert ids == posts, (ids, posts)

    # a score of 64 bits
    most = str(2**63 - 1)
    put_board.sync(client=ash, board="race", body=BoardSettings())
    was_set = got(MemberView, set_scores.sync("race", "birch", client=ash, body=SetScores(scores=[most])))
    assert (was_set.scores, was_set.rank) == ([most], 1), was_set
    more = add_to_scores.sync_detailed("race", "birch", client=ash, body=AddScores(add=["1"]))
    assert problem(more).type_ == "/problems/score-overflow", more
    assert got(StandingView, read_member.sync("race", "birch", client=ash)).scores == [most]


if __name__ == "__main__":
    main()
