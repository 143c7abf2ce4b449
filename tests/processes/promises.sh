#!/usr/bin/env bash
# promises.sh - every test that tests/PROMISES.md names is there: of C one that is defined, and thereby
# run, or a START_TEST that is added as well (tests/lib/suite.h); of scripts a line that one of them
# prints.
# test: once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
page=$(cd "$(dirname "$0")/.." && pwd)/PROMISES.md

# there TEST - "test_x:name" or "script:words of its line" is a test.
there()
{
    local suite=${1%%:*} name=${1#*:} file
    case $suite in
        test_*)
            file=$(find "$root/tests" -name "$suite.c")
            [ -n "$file" ] && { grep -qE "^TEST[A-Z_]*\(${name}[,)]" "$file" ||
                { grep -qE "^START_TEST\(${name}\)" "$file" &&
                    grep -qwF -- "$name" <(grep -vE "^START_TEST" "$file"); }; }
            ;;
        *) grep -qF -- "$name" <(grep -E '(^|[[:space:]])ok "' "$root/tests/processes/$suite.sh") ;;
    esac
}

promises=0 tests=0
while IFS='|' read -r _ promise named _; do
    promises=$((promises + 1))
    while read -r test; do
        there "$test" || fail "no test '$test' for: $promise"
        tests=$((tests + 1))
    done < <(sed 's/; /\n/g; s/^ //; s/ *$//' <<<"$named")
done < <(grep '^| ' "$page" | grep -v '| tests |$')
twice=$(grep '^| ' "$page" | cut -d '|' -f 2 | grep -v '^ \.\.\.' | sort | uniq -d)
[ -z "$twice" ] || fail "promised twice:$twice"
[ "$promises" -gt 50 ] || fail "only $promises promises were found in $page"
for missing in test_owner:nobody_has_written_this "keys:nobody prints this" test_nothing:at_all; do
    if there "$missing"; then fail "$missing is taken for a test"; fi
done
ok "$promises promises of the README and its pages have $tests tests, and all are there"
