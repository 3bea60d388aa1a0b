#!/bin/sh
# A pipeline step: runs a scenario, keeps its reports, and fails as the gate says.
#
#   rollscope-step.sh SCENARIO [ARGUMENT ...]
#
# Exits with Rollscope's own code: 1 the gate failed, 3 the run proves nothing, 4 the environment failed, 2 wrong usage.
# Exit 3 is told apart in words and in result.env, and can be let through.
#
#   ROLLSCOPE           the program                                    (rollscope)
#   ROLLSCOPE_OUT       folder for recording and reports, new or empty (rollscope-report)
#   ROLLSCOPE_FORMATS   reports to write                               (html,json,junit,md,png)
#   ROLLSCOPE_INVALID   fail | warn: what exit 3 does to the step      (fail)
#   ROLLSCOPE_UPLOAD    command that gets the timeline's path as its argument, for a place to keep it (none)
#
# Writes ROLLSCOPE_OUT/result.env with ROLLSCOPE_EXIT_CODE and ROLLSCOPE_RESULT (passed, gate_failed, usage, invalid,
# environment_failed, interrupted, failed).
set -eu

if [ "$#" -lt 1 ]; then
  echo "usage: rollscope-step.sh SCENARIO [ARGUMENT ...]" >&2
  exit 2
fi
scenario=$1
shift

program=${ROLLSCOPE:-rollscope}
out=${ROLLSCOPE_OUT:-rollscope-report}
formats=${ROLLSCOPE_FORMATS:-html,json,junit,md,png}
invalid=${ROLLSCOPE_INVALID:-fail}
case $invalid in
  fail | warn) ;;
  *)
    echo "rollscope-step: ROLLSCOPE_INVALID is '$invalid': expected fail or warn" >&2
    exit 2
    ;;
esac

code=0
"$program" run "$scenario" --out "$out" --format "$formats" "$@" || code=$?

case $code in
  0) result=passed ;;
  1) result=gate_failed ;;
  2) result=usage ;;
  3) result=invalid ;;
  4) result=environment_failed ;;
  130) result=interrupted ;;
  *) result=failed ;;
esac
mkdir -p "$out"
printf 'ROLLSCOPE_EXIT_CODE=%s\nROLLSCOPE_RESULT=%s\n' "$code" "$result" >"$out/result.env"

timeline=$out/timeline.html
if [ -n "${ROLLSCOPE_UPLOAD:-}" ] && [ -f "$timeline" ]; then
  # A gate's verdict does not hang on the place where its timeline is kept.
  sh -c "$ROLLSCOPE_UPLOAD \"\$1\"" upload "$timeline" ||
    echo "rollscope-step: the timeline could not be uploaded; it is in $timeline" >&2
fi

case $result in
  passed) echo "rollscope-step: passed" ;;
  gate_failed) echo "rollscope-step: the gate failed; see $timeline" ;;
  invalid)
    echo "rollscope-step: the run proves nothing (exit code 3), which is neither a pass nor a failed gate; see $timeline"
    if [ "$invalid" = warn ]; then
      code=0
    fi
    ;;
  *) echo "rollscope-step: $result (exit code $code)" ;;
esac
exit "$code"
