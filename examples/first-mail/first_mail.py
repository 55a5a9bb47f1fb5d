#!/usr/bin/env python3
"""Sends one mail and waits for its end: see README.md."""

import http.client
import json
import os
import sys
import time
import uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TRIES = 7
PATIENCE_SECONDS = 30
OPEN = ("PENDING", "SENDING", "RETRY")

API = os.environ.get("TIDINGS_API")
KEY = os.environ.get("TIDINGS_API_KEY")


def main(recipients):
    if not API or not KEY or len(recipients) != 1:
        print("usage: TIDINGS_API=http://… TIDINGS_API_KEY=tdg_… python3 first_mail.py RECIPIENT", file=sys.stderr)
        return 2
    mail = {"to": recipients, "subject": "A first mail", "text": "It works."}
    status, answer = call("/v1/mails", mail, {"Idempotency-Key": str(uuid.uuid4())})
    if status != 202:
        return refused(answer)
    path = f"/v1/messages/{answer['id']}"
    while True:
        status, answer = call(path)
        if status != 200:
            return refused(answer)
        if answer["status"] not in OPEN:
            return ended(answer)
        time.sleep(1)


def call(path, body=None, headers=None):
    """Calls the API: (status, body). What may succeed later is repeated; the Idempotency-Key sees to it that no mail is accepted twice."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **(headers or {})}
    for tried in range(1, TRIES + 1):
        seconds = 2 ** (tried - 1)
        try:
            with urlopen(Request(API + path, data, headers), timeout=PATIENCE_SECONDS) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refusal:
            problem = refusal.read()
            if not may_be_repeated(refusal.code, problem):
                return refusal.code, json.loads(problem)
            if tried == TRIES:
                raise
            seconds = int(refusal.headers.get("Retry-After", seconds))
        except (OSError, http.client.HTTPException):
            # No answer: nobody knows whether the request arrived.
            if tried == TRIES:
                raise
        time.sleep(seconds)


def may_be_repeated(status, problem):
    # idempotency-in-flight: the request before this one is still being worked on.
    return status == 429 or status >= 500 or b"idempotency-in-flight" in problem


def refused(problem):
    print(f"refused: {problem['code']}: {problem['detail']}", file=sys.stderr)
    for fault in problem["errors"]:
        print(f"  {fault['pointer']} {fault['code']}: {fault['detail']}", file=sys.stderr)
    return 2


def ended(message):
    if message["status"] == "SENT":
        print("sent")
        return 0
    error = message["lastError"]
    words = [message["reason"]] if error is None else [error["code"], error["enhancedCode"], error["text"]]
    print(f"not sent: {message['status']}: {' '.join(word for word in words if word)}")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, http.client.HTTPException) as error:
        print(f"given up on {API}: {error}", file=sys.stderr)
        sys.exit(1)
