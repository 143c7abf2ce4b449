#!/usr/bin/env bash
# secrets.sh - a folder of keys (syncopate keygen) as Kubernetes' Secrets: what the servers need of it, and what
# the workers need. Where options.yaml has SYNCOPATE_KEYS: /keys in the place of SYNCOPATE_INSECURE all is
# encrypted, and every peer is known (deploy/KEYS.md).
#
#     syncopate keygen keys --workers 3
#     deploy/kubernetes/secrets.sh keys | kubectl apply -f -
#
# The pods of one Job share a Secret, so that each worker could read the others' keys: against each other
# workers are not protected, as anywhere where one person owns them all.
set -euo pipefail

if [ $# -ne 1 ] || [ ! -d "$1" ]; then
    echo "usage: secrets.sh KEYS, a folder made by syncopate keygen" >&2
    exit 2
fi

# secret NAME FILE...
secret()
{
    local name=$1 file
    shift
    printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n' "$name"
    printf '  labels: {app.kubernetes.io/name: syncopate}\ntype: Opaque\ndata:\n'
    for file in "$@"; do
        if [ ! -f "$file" ]; then
            echo "secrets.sh: there is no $file" >&2
            exit 5
        fi
        printf '  %s: %s\n' "$(basename "$file")" "$(base64 -w 0 "$file")"
    done
}

cd "$1"
# A server's probes look at it as any observer does.
secret syncopate-keys-servers servers.key_secret servers.key observer.key_secret observer.key worker-*.key
secret syncopate-keys-workers servers.key worker-*.key_secret
