#!/usr/bin/env bash
# Works on a queue, one task at a time; run several for more. Needs bash, curl and jq.
#
#   TOCK_URL=https://… TOCK_KEY=… ./worker.sh QUEUE COMMAND [ARGUMENT...]
#
# COMMAND gets the payload on standard input, as JSON, and TOCK_TASK and TOCK_ATTEMPT in its environment. What it
# prints is the result: JSON, or else text. It ends with 0 when it is done, with 65 when trying again would not help,
# and with anything else to be tried again; the error is what it said last. It is stopped when its lease is lost, when
# somebody cancels its task, and STOP_SECONDS after this worker is told to stop, which gives the task back.
# UNTIL_EMPTY=1 ends when there is nothing to do. (jq 1.6 rounds numbers beyond a double: send those as text.)
set -uo pipefail

(($# >= 2)) || {
  echo 'usage: worker.sh QUEUE COMMAND [ARGUMENT...]' >&2
  exit 2
}
queue=$1
shift
command=("$@")
: "${TOCK_URL:?}" "${TOCK_KEY:?}"
export -n TOCK_KEY # is not for the command
lease_seconds=${LEASE_SECONDS:-60}
stop_seconds=${STOP_SECONDS:-10}
worker=${WORKER:-$(hostname)-$$}

dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT
stopping=
trap 'stopping=1' TERM INT

log() { printf '%s %s\n' "$(date -u +%FT%TZ)" "$*" >&2; }

# Sends $dir/body to a path; the answer is in $dir/answer and its status in $status. Whatever may pass (no answer, 429,
# 5xx) is repeated: a call has its request_id or its lease, so nothing is done twice. No subshell: a signal to all
# processes, as systemd's, would end it, and nobody would know what was claimed.
post() {
  local tries
  for ((tries = 1; ; tries++)); do
    # The key in a file of its own: everybody can read arguments.
    status=$(curl -sS --max-time 40 -o "$dir/answer" -w '%{http_code}' \
      -H @<(printf 'authorization: Bearer %s\n' "$TOCK_KEY") -H 'content-type: application/json' \
      --data-binary @"$dir/body" "$TOCK_URL/v1/$1") || status=000
    case $status in 000 | 429 | 5??) ;; *) break ;; esac
    ((tries == 8)) && break
    sleep "$((tries < 5 ? tries : 5))"
  done
}

# In a file, and not in a variable, which loses what it ends with.
body() { jq -n "$@" >"$dir/body"; }
answer() { jq -r "$1" "$dir/answer"; }
request_id() { printf '%s-%s-%s' "$worker" "$SECONDS" "$RANDOM$RANDOM$RANDOM"; }

# One task at most: what the claim met is in $state, and the task in $lease, $task and $attempt.
claim() {
  body --arg worker "$worker" --argjson lease "$lease_seconds" --arg id "$(request_id)" \
    --argjson wait "$([[ ${UNTIL_EMPTY-} ]] && echo 0 || echo 5)" \
    '{worker: $worker, limit: 1, lease_seconds: $lease, wait_seconds: $wait, request_id: $id}'
  post "queues/$queue/claim"
  IFS=$'\t' read -r state lease task attempt < <(
    answer '[.state // "none", .lease // "none", (.tasks[0]? | .id, .attempt)] | @tsv' 2>/dev/null
  )
  [[ $status == 200 ]] && return
  log "the claim is answered with $status: $(head -c 1000 "$dir/answer" 2>/dev/null)"
  # What passes has been waited for, as has an answer that was lost for longer than its lease.
  [[ $status == 409 ]]
}

# Keeps the lease alive, in the background; ends the command when it is lost or its task is to be cancelled.
heartbeat() {
  local job=$1 why
  dir=$dir/beat
  mkdir -p "$dir"
  trap - EXIT
  while sleep "$(((lease_seconds + 2) / 3))"; do
    body --argjson lease "$lease_seconds" '{lease_seconds: $lease}'
    post "leases/$lease/extend"
    why=
    [[ $status == 409 ]] && why=lost
    [[ $status == 200 && $(answer '.cancel | length') != 0 ]] && why=cancelled
    [[ $why ]] || continue
    printf '%s' "$why" >"$dir/why"
    finish "$job"
    return
  done
}

# TERM to a command and what it started, and KILL a second later.
finish() {
  kill -TERM -- "-$1" 2>/dev/null
  sleep 1
  kill -KILL -- "-$1" 2>/dev/null
}

# Runs the command to its end; its exit code is in $code.
run() {
  local job beats last=
  set -m # each in a process group of its own, so that it can be ended with all that it starts
  TOCK_TASK=$task TOCK_ATTEMPT=$attempt "${command[@]}" <"$dir/payload" >"$dir/out" 2>"$dir/err" &
  job=$!
  heartbeat "$job" >/dev/null &
  beats=$!
  set +m
  while true; do
    wait "$job" 2>/dev/null
    kill -0 "$job" 2>/dev/null || break
    # A signal has ended the wait, not the command.
    [[ $stopping && ! $last ]] || continue
    set -m
    (trap - EXIT; sleep "$stop_seconds"; touch "$dir/stopped"; finish "$job") >/dev/null &
    last=$!
    set +m
  done
  # The command's own: a signal may have come as it ended.
  wait "$job" 2>/dev/null
  code=$?
  # Whoever ends it does so to the end. KILL, as the first moment of a subshell still has the trap above.
  [[ -e $dir/beat/why ]] || kill -KILL -- "-$beats" 2>/dev/null
  [[ $last && ! -e $dir/stopped ]] && kill -KILL -- "-$last" 2>/dev/null
  wait "$beats" ${last:+"$last"} 2>/dev/null
  cat "$dir/err" >&2
}

complete() {
  tr -d '\000' <"$dir/out" >"$dir/text"
  body --arg id "$task" --rawfile text "$dir/text" \
    '{results: [{id: $id, result: (if $text == "" then null else $text | try fromjson catch $text end)}]}'
  post "leases/$lease/complete"
}

# fail MESSAGE FATAL
fail() {
  body --arg message "$1" --argjson fatal "$2" \
    '{error: {name: "Exit", message: $message}, fatal: $fatal}'
  post "leases/$lease/fail"
}

release() {
  body '{}'
  post "leases/$lease/release"
}

# How the command ended, in one word.
outcome() {
  if [[ -e $dir/beat/why ]]; then
    cat "$dir/beat/why"
  elif [[ $code == 0 ]]; then
    echo done
  elif [[ -e $dir/stopped || ($stopping && $code -gt 128) ]]; then
    echo stopped
  else
    echo failed
  fi
}

# Tells it; a result that is refused, as it is too large, is its task's failure.
tell() {
  local message
  message="exit code $code: $(tail -c 1000 "$dir/err" | tr -d '\000')"
  case $(outcome) in
    lost) log "task $task, attempt $attempt: its lease is lost" && return ;;
    cancelled | stopped) release ;;
    done) complete ;;
    failed)
      log "task $task, attempt $attempt: $message"
      fail "$message" "$([[ $code == 65 ]] && echo true || echo false)"
      ;;
  esac
  [[ $status == 200 ]] && return
  log "task $task, attempt $attempt: $status $(head -c 1000 "$dir/answer" 2>/dev/null)"
  [[ $status == 400 || $status == 413 || $status == 422 ]] || return
  fail "$(answer '.detail // "refused"')" false
}

work() {
  if [[ $stopping ]]; then
    release
    return
  fi
  rm -rf -- "$dir/beat" "$dir/stopped"
  jq -c '.tasks[0].payload' "$dir/answer" >"$dir/payload"
  run
  tell
}

while [[ ! $stopping ]]; do
  claim || exit 1
  if [[ $state == found ]]; then
    work
  elif [[ ${UNTIL_EMPTY-} && $state =~ ^(empty|paused)$ ]]; then
    break
  elif [[ $state != passing ]]; then
    # One that waits has done so already.
    sleep 1 &
    wait $!
  fi
done
