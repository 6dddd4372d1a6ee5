# The functions that the shell tests of GNU coreutils take from gnulib's tests/init.sh, written anew
# for a run without gnulib. SUITE is the checkout, whose init.cfg has the other functions.

fail=0

warn_() { echo "$0: $*" >&2; }
fail_() { warn_ "failed: $*"; Exit 1; }
skip_() { warn_ "skipped: $*"; Exit 77; }
fatal_() { warn_ "hard error: $*"; Exit 99; }
framework_failure_() { warn_ "set-up failure: $*"; Exit 99; }

# Exit ends the test with the status that the trap would otherwise lose.
Exit() {
  set +e
  (exit "$1")
  exit "$1"
}

compare() { diff -u "$1" "$2" >&2; }

# returns_ STATUS COMMAND... succeeds if the command ends with the status.
returns_() {
  wanted_=$1
  shift
  "$@"
  got_=$?
  test "$got_" = "$wanted_" || { warn_ "$*: ended with $got_, not $wanted_"; return 1; }
}

path_prepend_() {
  for dir_ in "$@"; do
    PATH=$(cd "$start_dir_" && cd "$dir_" 2>/dev/null && pwd):$PATH
  done
  PATH=${PATH#:}
  export PATH
}

print_ver_() { :; }
cleanup_() { :; }

require_trap_signame_() {
  (trap '' CHLD) 2>/dev/null || skip_ 'the shell has no names of signals'
}
require_perl_() { perl -e 1 2>/dev/null || skip_ 'no Perl'; }

start_dir_=$(pwd)
test_dir_=$(mktemp -d "$start_dir_/gt-XXXXXX") || framework_failure_ 'no folder'

remove_tmp_() {
  status_=$?
  cleanup_
  cd "$start_dir_" && chmod -R u+rwx "$test_dir_" && rm -rf "$test_dir_"
  exit $status_
}
trap remove_tmp_ 0
for signal_ in 1 2 13 15; do
  trap "Exit $((128 + signal_))" $signal_
done

. "$SUITE/init.cfg"

cd "$test_dir_" || framework_failure_ 'no folder'
