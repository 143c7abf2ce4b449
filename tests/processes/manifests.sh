#!/usr/bin/env bash
# manifests.sh - deploy/kubernetes: every object is what its kind's schema says, as far as there is one to be had, and
# the tasks of the TFJob, started as its operator would, come to the bits of a run here. There is no cluster: that its
# controllers do with them what is meant is not tried. (tests/engines/pods.sh runs the pods of the others.)
# needs: python3
# uses: node npm
# test: once later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
manifests=$here/../../deploy/kubernetes
if ! python3 -c 'import yaml' 2>/dev/null; then
    skip "manifests of Kubernetes: there is no python3-yaml"
    exit 0
fi

# --- the TFJob -------------------------------------------------------------------------------------
train_tfjob()
{
    local names=() ports name words
    # Its pods have addresses of their own; here their servers have ports.
    ports=("$(free_port)" "$(free_port)")
    while read -r name; do names+=("$name"); done < <("$here/manifests.py" tasks "$manifests/tfjob.yaml" "$work" "${ports[@]}")
    if [ "${#names[@]}" -ne 6 ]; then fail "the TFJob has ${#names[@]} tasks, and not two servers, three workers and an evaluator"; fi
    for name in "${names[@]}"; do
        mapfile -t words <"$work/$name.task"
        (cd "$work" && PATH=$build:$PATH exec env "${words[@]}") >"$work/$name.log" 2>&1 </dev/null &
        pids[$name]=$!
    done
    run here 0 syncopate run --model softmax --epochs 5 --seed 1 --ps 2 --workers 3 --quiet --out "$work/here"
    for name in "${names[@]}"; do ends "$name" 0 60; done
    if [ "$(member "$work/one" parameters_sha256)" != "$(member "$work/here" parameters_sha256)" ]; then
        fail "the TFJob's tasks come to other bits than run"
    fi
    says evaluator-0 "^step 4,690 .*test accuracy" # Of those before it the run keeps three.
    says evaluator-0 "the run has ended: done; [1-5] checkpoints? scored"
    ok "the TFJob's six tasks, with TF_CONFIG as its operator writes it: the bits of run, and an evaluator that has seen the last checkpoint"
}
if short_run; then train_tfjob; fi
if ! long_run; then exit 0; fi # What follows fetches 30 MB.

# --- schemas ---------------------------------------------------------------------------------------
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    skip "the schemas of Kubernetes' kinds: there is no npm"
    exit 0
fi
mkdir "$work/schemas"
if ! (cd "$work/schemas" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts \
    kubernetes-models@4.5.1 @kubernetes-models/validate@4.0.0) >"$work/npm.log" 2>&1; then
    skip "the schemas of Kubernetes' kinds: npm's registry does not give them: $(tail -n 1 "$work/npm.log")"
    exit 0
fi
export NODE_PATH=$work/schemas/node_modules
"$here/manifests.py" objects "$manifests"/*.yaml >"$work/objects.json"
# faults FILE - what node says of it; it must say something, or nothing.
faults() { node "$here/manifests.js" <"$1" >"$work/faults.log" 2>&1; }
faults "$work/objects.json" || fail "objects are not what their schemas say"
# planted EDIT NAMED - a fault that must be found, and named.
planted()
{
    sed "$1" "$work/objects.json" >"$work/planted.json"
    if cmp -s "$work/objects.json" "$work/planted.json"; then fail "nothing is planted by $1"; fi
    if faults "$work/planted.json"; then fail "no fault is found after $1"; fi
    grep -qF "$2" "$work/faults.log" || fail "the fault after $1 is not named"
}
planted 's/"serviceName"/"servceName"/' "servceName is not known"
planted 's/"replicas": 2/"replicas": "2"/' "must be integer"
planted 's/"envFrom"/"envFrm"/' "envFrm is not known"
planted 's/"operator": "In"/"operatr": "In"/' "operatr is not known"
ok "$(grep -o '"file"' "$work/objects.json" | wc -l) objects and pods are what the schemas of their kinds say (kubernetes-models 4.5.1); four planted faults are found"
skip "what is around the TFJob's pods: no schema of Kubeflow's is on npm; a control plane: none can be had here"
