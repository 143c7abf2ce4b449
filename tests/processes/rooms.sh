#!/usr/bin/env bash
# rooms.sh - include_direction.sh and citations.sh see what they are there to see: each of these
# includes and pointers, planted in a copy of the sources, is named.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

copy=$work/copy
mkdir "$copy"
(cd "$root" && cp -r common ps worker deploy proto tests "$copy")

# planted FILE INCLUDE WHAT - is said of that file with that include.
planted()
{
    cp "$copy/$1" "$work/before"
    echo "#include $2" >>"$copy/$1"
    if "$root/tests/include_direction.sh" "$copy" >"$work/check.log"; then fail "nothing is said of $2 in $1"; fi
    grep -qF -- "$3" "$work/check.log" || fail "$2 in $1: $(cat "$work/check.log")"
    cp "$work/before" "$copy/$1"
}
if short_run; then
    "$root/tests/include_direction.sh" "$copy" >"$work/check.log" || fail "$(cat "$work/check.log")"
    planted common/base/clock.c '"common/wire/message.h"' \
        "common/base/clock.c includes common/wire/message.h, of a room that is not below"
    planted common/keys/keys.c '"common/address/route.h"' "of a room that is not below" # Level with it.
    planted ps/owner/owner.c '"ps/router/router.h"' "of a room that is not below"
    planted ps/owner/owner.c '"ps/server.h"' "of a room that is not below"
    planted worker/model/model.c '"worker/client/client.h"' "of a room that is not below"
    planted deploy/launcher/launch.c '"deploy/command/command.h"' "of a room that is not below"
    planted deploy/cluster/cluster.c '"deploy/report/table.h"' "of a room that is not below"
    planted deploy/cluster/cluster.c '"ps/owner/owner.h"' "and deploy/cluster only what is common"
    planted common/job/job.c '"ps/server.h"' "against the arrows"
    planted ps/cores.c '"worker/trainer.h"' "against the arrows"
    planted worker/trainer.c '"tests/lib/suite.h"' "against the arrows"
    planted ps/server.c '<zmq.h>' "which belongs in common/transport/zmq only"
    planted common/wire/message.c '"proto/tensorboard.pb-c.h"' "which belongs in common/tensorboard/board_event.c only"
    planted common/tensorboard/board_event.c '"proto/syncopate.pb-c.h"' "which belongs in common/wire/message.c only"
    planted common/wire/message.c '"proto/other.pb-c.h"' "which has no door in this script"
    planted common/wire/message.c '<protobuf-c/protobuf-c.h>' "which comes with the messages"
    planted common/store/manifest.c '<jansson.h>' "which belongs in common/file/json.c only"
    planted common/transport/zmq/transport_zmq.c '"common/transport/budget/inflow.h"' "not by its room's door"
    ok "an include against the arrows is seen"
fi
if ! long_run; then exit 0; fi

# asks FILE CODE - a way around a mode's facts, in a line of its own at the end of that file.
asks()
{
    cp "$copy/$1" "$work/before"
    echo "$2" >>"$copy/$1"
    if "$root/tests/include_direction.sh" "$copy" >"$work/check.log"; then fail "nothing is said of: $2"; fi
    grep -qE "^(not ok - include direction: )?$1:[0-9]+ asks which mode it is" "$work/check.log" ||
        fail "$2 in $1: $(cat "$work/check.log")"
    cp "$work/before" "$copy/$1"
}
asks ps/owner/owner.c 'bool q(const struct job *job) { return job->mode != 0; }'        # Read.
asks ps/router/router.c 'bool is_async(const struct router *router);'                   # Asked by a function.
asks worker/trainer.c 'struct kept { bool sync; };'                                     # Copied to a flag.
asks deploy/report/table.c 'bool q(const char *t) { return strcmp(t, "async") == 0; }'  # By its name.
asks ps/server.c 'bool q(const struct job *job) { return job_mode(job)->number == 1; }' # By its number.
asks worker/solo.c 'int table[] = {[MODE_SYNC] = 1};'
ok "who asks for a mode and not for its facts is seen, six ways"

mkdir "$copy/common/attic"
echo '#include "common/base/clock.h"' >"$copy/common/attic/old.c"
if "$root/tests/include_direction.sh" "$copy" >"$work/check.log"; then fail "nothing is said of a room without a place"; fi
grep -qF "common/attic is not among the rooms" "$work/check.log" || fail "$(cat "$work/check.log")"
rm -r "$copy/common/attic"
for i in $(seq 30); do echo "int thing_$i;" >"$copy/ps/shard/thing_$i.c"; done
if "$root/tests/include_direction.sh" "$copy" >"$work/check.log"; then fail "nothing is said of a crowd"; fi
grep -qE "ps/shard has [0-9]+ files of C" "$work/check.log" || fail "$(cat "$work/check.log")"
ok "a room without a place among the others is seen, and a crowded one"

rm "$copy"/ps/shard/thing_*.c
cp "$root/README.md" "$root/Makefile" "$copy"
"$root/tests/citations.sh" "$copy" >"$work/check.log" || fail "$(cat "$work/check.log")"
# points TEXT - a comment of ps/cores.c that points at what is not there.
points()
{
    cp "$copy/ps/cores.c" "$work/before"
    echo "/* $1 */" >>"$copy/ps/cores.c"
    if "$root/tests/citations.sh" "$copy" >"$work/check.log"; then fail "nothing is said of: $1"; fi
    grep -qE 'ps/cores.c:[0-9]+ .*which is not there' "$work/check.log" || fail "$(cat "$work/check.log")"
    cp "$work/before" "$copy/ps/cores.c"
}
points "See design.md section 3."
points "As proto/CONTRACT.md section 99 has it."
points "See PROTOCOL.md, section 99."
points "Read by ps/nothing.c alone."
points "See nothing.h."
sed -i 1d "$copy/ps/shard/plan.c"
if "$root/tests/citations.sh" "$copy" >"$work/check.log"; then fail "nothing is said of a source without an opening"; fi
grep -qF "ps/shard/plan.c does not open" "$work/check.log" || fail "$(cat "$work/check.log")"
ok "a comment that points at what is not there is seen, and a source that does not say what it does"
