#!/bin/bash
# Compares the benchmarks of $PACKAGE that match $BENCH at $BASE and at the working tree, for $BUDGET, or in $COUNT pairs. $GATE has one measure a line, as
# "allocs=0.01". The report goes to the job's summary and to standard output. The status is that of freehold compare: 1 if a gate fails.
set -euo pipefail

gates=()
while read -r gate; do
	[ -z "$gate" ] || gates+=(-gate "$gate")
done <<<"$GATE"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
length=(-budget "$BUDGET")
[ -z "${COUNT:-}" ] || length=(-count "$COUNT")
report=$dir/report said=$dir/said status=0
NO_COLOR=1 freehold compare -package "$PACKAGE" -bench "$BENCH" -benchtime "$BENCHTIME" "${length[@]}" "${gates[@]}" "$BASE" . >"$report" 2>"$said" || status=$?
cat "$said" >&2
failure=$(grep '^compare: B is ' "$said" || true)

cat "$report"
{
	echo "### freehold compare: $PACKAGE"
	echo
	[ -z "$failure" ] || printf '**Failed:** %s\n\n' "${failure#compare: }"
	echo '```'
	cat "$report"
	echo '```'
} >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
echo "verdict=$(head -n 1 "$report")" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
