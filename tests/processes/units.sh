#!/usr/bin/env bash
# units.sh - the units for systemd: systemd-analyze finds no fault with them, what they ask for is what
# the programs do and end with, and the programs get by with the system calls that they are left.
# promises: services
# uses: systemd-analyze strace
# test: once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
units=$root/deploy/systemd

# --- what they say --------------------------------------------------------------------------------
setting() { sed -nE "s/^$2=//p" "$units/syncopate-$1@.service"; }
for role in ps worker; do
    "$build/syncopate-$role" --help >"$work/$role.txt"
    for code in $(setting "$role" SuccessExitStatus) $(setting "$role" RestartPreventExitStatus); do
        grep -qE "^ +$code +" "$work/$role.txt" || fail "the unit of $role knows exit code $code, and --help does not"
    done
    for code in 0 4 195; do # Done needs no word; what another start may help is not prevented.
        if [[ " $(setting "$role" RestartPreventExitStatus) " == *" $code "* ]]; then fail "$code is not started again"; fi
    done
    if [ "$(setting "$role" Type)" != notify ]; then fail "the unit of $role does not wait for READY=1"; fi
    if [ "$(setting "$role" ExecStart)" != "/usr/local/bin/syncopate-$role --task-index %i" ]; then
        fail "the unit of $role starts something else"
    fi
done
ok "units know the programs' exit codes, and wait until they are ready"

if ! command -v systemd-analyze >/dev/null; then
    skip "units as systemd reads them: systemd-analyze is not here (Debian's systemd)"
    exit 0
fi
mkdir "$work/units"
for role in ps worker; do
    sed "s|/usr/local/bin/|$build/|" "$units/syncopate-$role@.service" >"$work/units/syncopate-$role@.service"
done
verified()
{
    systemd-analyze verify --man=no "$work/units/syncopate-ps@0.service" "$work/units/syncopate-worker@3.service" \
        >"$work/verify.log" 2>&1 && ! grep -q "syncopate-" "$work/verify.log"
}
# An instance is made of the template beside it.
cp "$work/units/syncopate-ps@.service" "$work/units/syncopate-ps@0.service"
cp "$work/units/syncopate-worker@.service" "$work/units/syncopate-worker@3.service"
verified || fail "systemd-analyze verify finds fault with a unit"
sed -i 's/^WatchdogSec=/WatchDogSec=/' "$work/units/syncopate-ps@0.service"
if verified; then fail "systemd-analyze finds no fault where there is one"; fi
for role in ps worker; do
    systemd-analyze security --offline=true --threshold=25 "$work/units/syncopate-$role@.service" \
        >"$work/security.log" 2>&1 || fail "the unit of $role leaves its process more than it needs"
done
ok "systemd-analyze verify has nothing to say against the units, nor has its look at their hardening"

# --- system calls ---------------------------------------------------------------------------------
if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null || sanitized; then
    skip "system calls of a unit's processes: strace is not here, may not trace, or sees a sanitizer's"
    exit 0
fi
# calls GROUP - that are in it, with those of the groups in it.
calls()
{
    local name
    while read -r name; do
        case $name in
            "$1" | "#"* | "") ;;
            @*) calls "$name" ;;
            *) echo "$name" ;;
        esac
    done < <(systemd-analyze syscall-filter "$1")
}
hosts=127.0.0.1:$(free_port)
for role in ps worker; do
    strace -qq -f -o "$work/$role.trace" "$build/syncopate-$role" --ps-hosts "$hosts" --workers 1 --model softmax \
        --data synthetic:500 --epochs 2 --out "$work/run" >"$work/$role.log" 2>&1 </dev/null &
    pids[$role]=$!
done
for role in ps worker; do ends "$role" 0 60; done
sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$work"/*.trace | sort -u >"$work/used"
calls @system-service | sort -u >"$work/allowed"
denied=$(comm -23 "$work/used" "$work/allowed")
if [ -n "$denied" ]; then fail "a unit's process may not call ${denied//$'\n'/, }"; fi
if [ "$(wc -l <"$work/used")" -lt 40 ]; then fail "only $(wc -l <"$work/used") calls were seen"; fi
ok "of a job's $(wc -l <"$work/used") system calls all are among those that the units leave"
