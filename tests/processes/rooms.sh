#!/usr/bin/env bash
# rooms.sh - include_direction.sh and citations.sh see what they are there to see: each of these
# includes and pointers, planted in a copy of the sources, is named.
# test: once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

copy=$work/copy
mkdir "$copy"
(cd "$root" && cp -r common ps worker deploy proto tests "$copy")

# add FILE LINE - to its end.
declare -A touched=()
expected=()
add()
{
    echo "$2" >>"$copy/$1"
    touched[$1]=1
}
# seen SCRIPT - it says each of the lines of $expected; files that were added to are then as before.
seen()
{
    local line
    if "$root/tests/$1" "$copy" >"$work/check.log"; then fail "nothing is said"; fi
    sed -E 's/^not ok - [a-z ]+: //' "$work/check.log" >"$work/said"
    for line in "${expected[@]}"; do
        grep -qE "^$line" "$work/said" || fail "it does not say: $line"
    done
    if [ ${#touched[@]} -gt 0 ]; then (cd "$root" && cp --parents "${!touched[@]}" "$copy"); fi
    expected=() touched=()
}
# only COUNT - so many lines, and no more.
only() { if [ "$(wc -l <"$work/said")" -ne "$1" ]; then fail "more is said than was planted: $(cat "$work/said")"; fi; }

cp "$root/README.md" "$root/Makefile" "$copy"
for check in include_direction citations; do
    "$root/tests/$check.sh" "$copy" >"$work/check.log" || fail "$(cat "$work/check.log")"
done

# planted FILE INCLUDE WHAT - is said of that file with that include.
planted()
{
    add "$1" "#include $2"
    expected+=("$1 includes ${2//[<>\"]/}, $3\$")
}
planted common/base/clock.c '"common/wire/message.h"' "of a room that is not below"
planted common/keys/keys.c '"common/address/route.h"' "of a room that is not below" # Level with it.
planted ps/owner/owner.c '"ps/router/router.h"' "of a room that is not below"
planted ps/owner/owner.c '"ps/server.h"' "of a room that is not below"
planted worker/model/model.c '"worker/client/client.h"' "of a room that is not below"
planted deploy/launcher/launch.c '"deploy/command/command.h"' "of a room that is not below"
planted deploy/cluster/cluster.c '"deploy/report/table.h"' "of a room that is not below"
expected+=("deploy/cluster/cluster.c includes deploy/report/table.h, and deploy/cluster only what is common\$")
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
seen include_direction.sh
only 18
ok "an include against the arrows is seen"

# asks FILE CODE - a way around a mode's facts, in a line of its own at the end of that file.
asks()
{
    add "$1" "$2"
    expected+=("$1:[0-9]+ asks which mode it is")
}
asks ps/owner/owner.c 'bool q(const struct job *job) { return job->mode != 0; }'        # Read.
asks ps/router/router.c 'bool is_async(const struct router *router);'                   # Asked by a function.
asks worker/trainer.c 'struct kept { bool sync; };'                                     # Copied to a flag.
asks deploy/report/table.c 'bool q(const char *t) { return strcmp(t, "async") == 0; }'  # By its name.
asks ps/server.c 'bool q(const struct job *job) { return job_mode(job)->number == 1; }' # By its number.
asks worker/solo.c 'int table[] = {[MODE_SYNC] = 1};'
seen include_direction.sh
only 6
ok "who asks for a mode and not for its facts is seen, six ways"

mkdir "$copy/common/attic"
echo '#include "common/base/clock.h"' >"$copy/common/attic/old.c"
expected=("common/attic is not among the rooms")
seen include_direction.sh
rm -r "$copy/common/attic"
for i in $(seq 30); do echo "int thing_$i;" >"$copy/ps/shard/thing_$i.c"; done
expected=("ps/shard has [0-9]+ files of C")
seen include_direction.sh
only 1
rm "$copy"/ps/shard/thing_*.c
ok "a room without a place among the others is seen, and a crowded one"

# points TEXT AT - a comment of ps/cores.c that points at what is not there.
points()
{
    add ps/cores.c "/* $1 */"
    expected+=("ps/cores.c:[0-9]+ $2.*, which is not there\$")
}
points "See design.md section 3." "names design.md"
points "As proto/CONTRACT.md section 99 has it." "cites .*CONTRACT.*99"
points "See PROTOCOL.md, section 98." "cites .*PROTOCOL.*98"
points "Read by ps/nothing.c alone." "names ps/nothing.c"
points "See nothing.h." "names nothing.h"
sed -i 1d "$copy/ps/shard/plan.c"
expected+=("ps/shard/plan.c does not open with what it does")
seen citations.sh
ok "a comment that points at what is not there is seen, and a source that does not say what it does"
