#!/usr/bin/env bash
# Runs the tasks of a queue, one at a time; start several workers for more. Needs bash, curl and jq.
#
#   TOCK_URL=https://… TOCK_KEY=… ./worker.sh QUEUE COMMAND [ARGUMENT...]
#
# COMMAND gets the payload on standard input, as JSON, and TOCK_TASK and TOCK_ATTEMPT in its environment. Its output is
# the result: JSON, or else text. Exit code 0 completes the task, 65 fails it without another attempt, and any other
# code fails it with another attempt; the error is the end of standard error. The worker stops COMMAND when its lease
# is lost, when its task is cancelled, and STOP_SECONDS after a TERM or INT; then it releases the task. With
# UNTIL_EMPTY=1 the worker ends when no task is left. (jq 1.6 rounds numbers beyond a double: send those as text.)
set -uo pipefail

(($# >= 2)) || {
  echo 'usage: worker.sh QUEUE COMMAND [ARGUMENT...]' >&2
  exit 2
}
queue=$1
shift
command=("$@")
: "${TOCK_URL:?}" "${TOCK_KEY:?}"
export -n TOCK_KEY # COMMAND must not see the key
lease_seconds=${LEASE_SECONDS:-60}
stop_seconds=${STOP_SECONDS:-10}
worker=${WORKER:-$(hostname):$$}

dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT
stopping=
trap 'stopping=1' TERM INT

log() { printf '%s %s\n' "$(date -u +%FT%TZ)" "$*" >&2; }

# Sends $dir/body to a path; the answer is in $dir/answer and its status in $status. After no answer, 429 or 5xx it
# retries: each call has a request_id or a lease, so a retry has no second effect. It does not run in a subshell: a
# signal to all processes, such as systemd's, would end the subshell, and the claimed lease would be unknown.
post() {
  local tries
  for ((tries = 1; ; tries++)); do
    # The key is in a file, because other users can read a process's arguments.
    status=$(curl -sS --max-time 40 -o "$dir/answer" -w '%{http_code}' \
      -H @<(printf 'authorization: Bearer %s\n' "$TOCK_KEY") -H 'content-type: application/json' \
      --data-binary @"$dir/body" "$TOCK_URL/v1/$1") || status=000
    case $status in 000 | 429 | 5??) ;; *) break ;; esac
    ((tries == 8)) && break
    sleep "$((tries < 5 ? tries : 5))"
  done
}

# Uses a file, because a variable loses trailing newlines.
body() { jq -n "$@" >"$dir/body"; }
answer() { jq -r "$1" "$dir/answer"; }
request_id() { printf '%s-%s-%s' "$worker" "$SECONDS" "$RANDOM$RANDOM$RANDOM"; }

# Claims one task: $state is the state of the answer; $lease, $task and $attempt are the task's.
claim() {
  body --arg worker "$worker" --argjson lease "$lease_seconds" --arg id "$(request_id)" \
    --argjson wait "$([[ ${UNTIL_EMPTY-} ]] && echo 0 || echo 5)" \
    '{worker: $worker, limit: 1, lease_seconds: $lease, wait_seconds: $wait, request_id: $id}'
  post "queues/$queue/claim"
  IFS=$'\t' read -r state lease task attempt < <(
    answer '[.state // "none", .lease // "none", (.tasks[0]? | .id, .attempt)] | @tsv' 2>/dev/null
  )
  [[ $status == 200 ]] && return
  log "the claim got status $status: $(head -c 1000 "$dir/answer" 2>/dev/null)"
  # post() has retried already. 409: the answer was lost for longer than its lease, so claim again.
  [[ $status == 409 ]]
}

# Extends the lease in the background. Ends the command when the lease is lost or the task is cancelled.
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

# Sends TERM to a command and its child processes, and KILL a second later.
finish() {
  kill -TERM -- "-$1" 2>/dev/null
  sleep 1
  kill -KILL -- "-$1" 2>/dev/null
}

# Runs the command to its end; its exit code is in $code.
run() {
  local job beats last=
  set -m # each job gets its own process group, so that its child processes can be stopped too
  TOCK_TASK=$task TOCK_ATTEMPT=$attempt "${command[@]}" <"$dir/payload" >"$dir/out" 2>"$dir/err" &
  job=$!
  heartbeat "$job" >/dev/null &
  beats=$!
  set +m
  while true; do
    wait "$job" 2>/dev/null
    kill -0 "$job" 2>/dev/null || break
    # A signal ended the wait, and the command still runs.
    [[ $stopping && ! $last ]] || continue
    set -m
    (trap - EXIT; sleep "$stop_seconds"; touch "$dir/stopped"; finish "$job") >/dev/null &
    last=$!
    set +m
  done
  # The command's exit code: the wait above may have returned that of a signal.
  wait "$job" 2>/dev/null
  code=$?
  # If the heartbeat is ending the command, it finishes that. KILL, because a new subshell still has the trap above.
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

# Prints the outcome of the command: lost, cancelled, done, stopped or failed.
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

# Reports the outcome. If the result is refused, for example as too large, the task fails.
report() {
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
  report
}

while [[ ! $stopping ]]; do
  claim || exit 1
  if [[ $state == found ]]; then
    work
  elif [[ ${UNTIL_EMPTY-} && $state =~ ^(empty|paused)$ ]]; then
    break
  elif [[ $state != passing ]]; then
    # After `passing`, which means that cancelled tasks were skipped, the next claim follows at once.
    sleep 1 &
    wait $!
  fi
done
