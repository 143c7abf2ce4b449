#!/usr/bin/env bash
# pods.sh - the Pods that Kubernetes would make of deploy/kubernetes, run by podman: two servers, three workers,
# the bits of a run here. What a Job's controller does about a Pod that ends this script does: worker pods are
# killed and evicted and their index made again, a server is killed and started again by podman. The second time
# with keys, mounted as a Secret is. No Kubernetes is here: what is tried are image, Pods, names, volumes,
# signals and exit codes; Service, StatefulSet and Job as such are not (install.sh reads them).
# needs: everything
# shellcheck source=tests/engines/containers.sh
. "$(dirname "$0")/containers.sh"
begin_containers podman
if ! python3 -c 'import yaml' 2>/dev/null; then
    skip "all of it: there is no python3-yaml (deploy/setup.sh engines)"
    exit 0
fi
make_image

pods=$work/pods kept=$volumes/runs-syncopate-ps-0/_data/one # Server 0's.
logs_of_pods()
{
    local name
    for name in $(podman ps --all --format '{{.Names}}' 2>/dev/null | grep -v infra); do
        podman logs "$name" >"$work/$name.log" 2>&1 || true
    done
}
fail_with_logs() { logs_of_pods; fail "$1"; }

# play NAME [OTHER-NAME] - the Pod of the manifests, with what its Service would call it.
play()
{
    podman play kube --network "$network:alias=$1.syncopate-ps" --configmap "$pods/options.yaml" "$pods/$1.yaml" \
        >"$work/play-$1.log" 2>&1 || fail_with_logs "podman does not play $1"
}
play_all()
{
    local i
    for i in 0 1; do play "syncopate-ps-$i"; done
    for i in 0 1 2; do play "syncopate-worker-$i"; done
}
# The Job's controller, when a Pod of its has ended with anything but 0.
make_again()
{
    note_groups
    podman pod rm --force --time 0 "$1" >"$work/rm-$1.log" 2>&1 || fail_with_logs "$1 cannot be removed"
    play "$1"
}

# --- the image ------------------------------------------------------------------------------------
code=0
podman run --rm --network none --entrypoint /bin/sh "$image" -c true >"$work/shell.log" 2>&1 || code=$?
if [ "$code" -ne 127 ]; then fail "/bin/sh in the image ends with $code, and not with 127 (there is none)"; fi
if [ "$(podman image inspect --format '{{.Config.User}}' "$image")" != 65532:65532 ]; then
    fail "the image's programs would be root"
fi
code=0
podman run --rm --network none "$image" run --ps 0 --program /net --out /runs/net >"$work/no-shell.log" 2>&1 || code=$?
if [ "$code" -ne 7 ]; then fail "a program without a shell ends with $code, not with 7"; fi
says no-shell "^cannot run /bin/sh, which a program needs"
ok "an image without a shell and without root: $(cut -d ' ' -f 2- "$work/image.log")"

# --- a job ----------------------------------------------------------------------------------------
reference
"$root/tests/engines/pods.py" "$root/deploy/kubernetes" "$pods" --image "$image"
since=$EPOCHREALTIME
play_all
seconds=$(first_step "$kept" "$since") || fail_with_logs "no step is done"
for i in 0 1 2; do comes_to "syncopate-worker-$i-worker" "exited 0" 60; done
same_bits "$kept" "as pods"
ok "two servers and three workers as pods: the bits of a run here; the first step after $seconds s"

# probes_say PROBE CODE - of both servers, by their manifest's commands.
probes_say()
{
    local i words code
    for i in 0 1; do
        code=0
        mapfile -t words <"$pods/syncopate-ps-$i.$1"
        podman exec "syncopate-ps-$i-ps" "${words[@]}" >"$work/$1.log" 2>&1 || code=$?
        if [ "$code" -ne "$2" ]; then return 1; fi
    done
}
# Whoever is stopped in the moment in which it is started never hears of it, so they are to listen.
listens_again()
{
    podman logs "syncopate-ps-$1-ps" >"$work/ps$1.log" 2>&1 && [ "$(grep -c "ps/$1 listening" "$work/ps$1.log")" -eq 2 ]
}
for i in 0 1; do
    within 60 listens_again "$i" || fail "server $i does not wait for the next job"
    said "ps$i" "ps/$i done exit=0" || fail "server $i did not end with 0"
done
within 10 probes_say livenessProbe 0 || fail "servers that wait for a job are not alive, as their probes say"
within 10 probes_say readinessProbe 4 || fail "servers that wait for a job are ready, as their probes say"
podman stop --time 60 syncopate-ps-0-ps syncopate-ps-1-ps >"$work/stop.log" 2>&1 || fail "servers cannot be stopped"
for i in 0 1; do comes_to "syncopate-ps-$i-ps" "exited 143"; done
remove_containers podman pod rm --force --all --time 30
ok "servers whose job is done end with 0 and, started again, wait for the next; told to go they do (143), and nothing is left"

# --- what a cluster does to it, with keys ----------------------------------------------------------
"$build/syncopate" keygen "$work/keys" --workers 3 >"$work/keygen.log" 2>&1 || fail "there are no keys"
"$root/deploy/kubernetes/secrets.sh" "$work/keys" >"$work/secrets.yaml"
# A step takes long enough for all that follows to come into one job.
rm -r "$pods"
"$root/tests/engines/pods.py" "$root/deploy/kubernetes" "$pods" --image "$image" --secrets "$work/secrets.yaml" \
    --option SYNCOPATE_INSECURE= --option SYNCOPATE_KEYS=/keys --option SYNCOPATE_COMPUTE=constant:1ms
play_all

inspected()
{
    podman exec syncopate-ps-0-ps syncopate inspect syncopate-ps-0.syncopate-ps:7000 >"$work/inspect.log" 2>&1 &&
        grep -qE "$1" "$work/inspect.log"
}
within 30 inspected '^step: [1-9]' || fail_with_logs "the job with keys does not train"
within 10 probes_say livenessProbe 0 || fail "servers with keys are not alive, as their probes say"
within 10 probes_say readinessProbe 0 || fail "servers with keys are not ready while they train, as their probes say"
podman logs syncopate-ps-0-ps >"$work/ps0.log" 2>&1
if said ps0 "insecure"; then fail "the servers have no keys"; fi

crash syncopate-worker-1-worker
comes_to syncopate-worker-1-worker "exited 137"
make_again syncopate-worker-1

# What an eviction does, with the time that the manifest gives.
podman stop --time 60 syncopate-worker-2-worker >"$work/stop.log" || fail "a worker cannot be stopped"
comes_to syncopate-worker-2-worker "exited 143"
make_again syncopate-worker-2

crash syncopate-ps-1-ps
is_back() { [ "$(restarts_of syncopate-ps-1-ps)" -ge 1 ]; }
within 30 is_back || fail_with_logs "a server that was killed is not started again"

for i in 0 1 2; do comes_to "syncopate-worker-$i-worker" "exited 0" 90; done
podman logs syncopate-ps-0-ps >"$work/ps0.log" 2>&1
says ps0 "lost worker/1"
says ps0 "worker/2 leaves"
says ps0 "lost ps/1"
same_bits "$kept" "with keys, and three pods lost"
ok "with keys, a worker killed (137) and one evicted (143), both made again, a server killed and back: the same bits"

remove_containers podman pod rm --force --all --time 30
ok "and nothing is left of that either"

# --- a program ------------------------------------------------------------------------------------
# The image of a person: ours, with a shell, Python, NumPy and the program.
stage=$work/stage
program_job "$stage/net"
cp -L --parents /bin/sh /usr/bin/python3 "$stage"
/usr/bin/python3 -c 'import os, numpy; print(os.path.dirname(os.__file__), *numpy.__path__, sep="\n")' |
    while read -r folder; do cp -r --parents "$folder" "$stage"; done
find "$stage" -type f '(' -name '*.so' -o -path '*/bin/*' ')' -exec ldd {} + 2>/dev/null | grep -oE '/[^ ]+[^ :]' |
    grep -v "^$stage" | sort -u | xargs cp -L --parents --target-directory="$stage"
printf 'FROM %s\nCOPY . /\n' "$image" | buildah build --quiet --tag "$image-net" --file - "$stage" >"$work/image-net.log" 2>&1 ||
    fail "there is no image with a program"
rm -r "$pods"
"$root/tests/engines/pods.py" "$root/deploy/kubernetes" "$pods" --image "$image-net" --option SYNCOPATE_MODEL= \
    --option SYNCOPATE_EPOCHS= --option SYNCOPATE_STEPS=60 \
    --option SYNCOPATE_PROGRAM="cd /net && exec /usr/bin/python3 -B softmax.py"
play_all
for i in 0 1 2; do comes_to "syncopate-worker-$i-worker" "exited 0" 60; done
same_bits "$kept" "a program as pods"
remove_containers podman pod rm --force --all --time 30
ok "pods of an image with a program: the bits of one process and of run: $expected"
nothing_runs
