"""Makes the local user pools behave like AWS: names have no case if the pool says so, required attributes are given, and an
email address is a name only when its owner has proven it. There is one code for everything, because no email is sent.
Requests are answered one after the other: ministack answers each in a thread of its own, and reads maps that others change.
"""

import threading

from ministack.core.responses import error_response_json
from ministack.services import cognito


def refused(kind: str, message: str):
    return error_response_json(kind, message, 400)


def pool_of(data: dict) -> dict | None:
    pool = data.get("UserPoolId")
    return cognito._user_pools.get(pool) if pool else cognito._pool_for_client(data.get("ClientId"))[0]


def user_of(pool: dict, data: dict) -> dict | None:
    return cognito._resolve_user(pool, data.get("Username"))[0]


def attributes(given: dict) -> dict:
    listed = given.get("UserAttributes") or given.get("Attributes") or []
    return cognito._attr_list_to_dict(listed)


def is_proven(user: dict) -> bool:
    return str(attributes(user).get("email_verified")).lower() == "true"


def prove(user: dict) -> None:
    user["Attributes"] = cognito._merge_attributes(user["Attributes"], [{"Name": "email_verified", "Value": "true"}])


def without_case(pool: dict, data: dict) -> dict:
    """The request with its names and addresses in lower case, if they have no case in this pool."""
    if str(pool.get("UsernameConfiguration", {}).get("CaseSensitive", True)).lower() == "true":
        return data
    lower = dict(data)
    for holder, name in ((None, "Username"), ("AuthParameters", "USERNAME"), ("ChallengeResponses", "USERNAME")):
        inner = lower if holder is None else lower.get(holder)
        if isinstance(inner, dict) and isinstance(inner.get(name), str):
            inner = inner | {name: inner[name].lower()}
            lower = inner if holder is None else lower | {holder: inner}
    if "UserAttributes" in lower:
        lower["UserAttributes"] = [
            each | {"Value": each["Value"].lower()} if each.get("Name") == "email" else each
            for each in lower["UserAttributes"]
        ]
    return lower


def refusal(pool: dict, action: str, data: dict):
    """The answer to a request that AWS refuses and the local cloud does not. None for others."""
    by_email = "email" in pool.get("AliasAttributes", [])
    if action == "SignUp":
        given = attributes(data)
        required = [each["Name"] for each in pool["SchemaAttributes"] if str(each["Required"]).lower() == "true"]
        for name in required:
            if name != "sub" and not given.get(name):
                message = f"Attributes did not conform to the schema: {name}: The attribute {name} is required"
                return refused("InvalidParameterException", message)
        if by_email and "@" in data.get("Username", ""):
            message = "Username cannot be of email format, since user pool is configured for email alias."
            return refused("InvalidParameterException", message)
    user = user_of(pool, data)
    if action == "ConfirmSignUp" and by_email and user and data.get("ConfirmationCode") == user.get("_confirmation_code"):
        email = attributes(user).get("email")
        others = (other for other in pool["_users"].values() if other is not user and is_proven(other))
        if any(attributes(other).get("email") == email for other in others):
            return refused("AliasExistsException", "An account with the email already exists.")
    if action == "ForgotPassword" and user and not is_proven(user):
        message = "Cannot reset password for the user as there is no registered/verified email or phone_number"
        return refused("InvalidParameterException", message)
    return None


def install(code: str | None) -> None:
    run = cognito._run_idp_handler
    lock = threading.Lock()

    def run_alone(handler, action: str, data: dict):
        with lock:
            return run_as_aws(handler, action, data)

    def run_as_aws(handler, action: str, data: dict):
        if action in cognito._UNSIGNED_IDP_ACTIONS:
            cognito._pin_unsigned_idp_scope(data)
        pool = pool_of(data)
        if pool is None:
            return run(handler, action, data)
        data = without_case(pool, data)
        answer = refusal(pool, action, data) or run(handler, action, data)
        user = user_of(pool, data) if answer[0] == 200 else None
        if user and action == "ConfirmSignUp" and "email" in pool.get("AutoVerifiedAttributes", []):
            prove(user)
        secret = {"SignUp": "_confirmation_code", "ForgotPassword": "_reset_code"}.get(action)
        if user and secret and code:
            user[secret] = code
        return answer

    cognito._run_idp_handler = run_alone
