#!/bin/sh
# Sends one mail and waits for its end: see README.md. Needs curl 7.71 or later.
set -u

if [ $# -ne 1 ] || [ -z "${TIDINGS_API:-}" ] || [ -z "${TIDINGS_API_KEY:-}" ]; then
  echo "usage: TIDINGS_API=http://… TIDINGS_API_KEY=tdg_… sh first-mail.sh RECIPIENT" >&2
  exit 2
fi

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# Calls the API: prints the status, leaves the body in $answer. curl repeats what may succeed later (429, 5xx, broken connections) and knows
# Retry-After; the Idempotency-Key sees to it that no mail is accepted twice.
call() {
  path=$1
  shift
  curl -sS -o "$answer" -w '%{http_code}' --max-time 30 --retry 6 --retry-all-errors \
    -H "Authorization: Bearer $TIDINGS_API_KEY" "$@" "$TIDINGS_API$path"
}

# The first text of that name in the JSON that is read.
field() {
  grep -oE "\"$1\":\"([^\"\\\\]|\\\\.)*\"" | head -n 1 | sed 's/^"[^"]*":"//; s/"$//; s/\\\(["\\]\)/\1/g'
}

# Several of them in one line.
fields() {
  json=$(cat)
  for name in "$@"; do printf '%s\n' "$json" | field "$name"; done | paste -s -d ' ' -
}

given_up() {
  echo "given up on $TIDINGS_API: status $status" >&2
  exit 1
}

refused() {
  case $status in 429 | 5*) given_up ;; esac
  echo "refused: $(field code <"$answer"): $(field detail <"$answer")" >&2
  grep -oE '[{]"pointer":("([^"\\]|\\.)*"|[^"}])*[}]' "$answer" | while read -r fault; do
    echo "  $(printf '%s' "$fault" | fields pointer code): $(printf '%s' "$fault" | field detail)" >&2
  done
  exit 2
}

recipient=$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')
mail='{"to": ["'$recipient'"], "subject": "A first mail", "text": "It works."}'
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

while
  status=$(call /v1/mails -H 'Content-Type: application/json' -H "Idempotency-Key: $key" -d "$mail") || given_up
  # The request before this one is still being worked on.
  [ "$status" = 409 ] && grep -q idempotency-in-flight "$answer"
do sleep 1; done
[ "$status" = 202 ] || refused
id=$(field id <"$answer")

while
  status=$(call "/v1/messages/$id") || given_up
  [ "$status" = 200 ] || refused
  end=$(field status <"$answer")
  [ "$end" = PENDING ] || [ "$end" = SENDING ] || [ "$end" = RETRY ]
do sleep 1; done

if [ "$end" = SENT ]; then
  echo sent
  exit 0
fi
error=$(grep -o '"lastError":{.*' "$answer" | fields code enhancedCode text)
echo "not sent: $end: ${error:-$(field reason <"$answer")}"
exit 1
