#!/usr/bin/env python3
"""pods.py - makes of deploy/kubernetes what Kubernetes' controllers and kubelet would make of it: Pods.

    pods.py FOLDER OUT --image NAME [--option NAME=VALUE]... [--secrets FILE]

FOLDER has the manifests. OUT gets a file for each ConfigMap and each Pod: a StatefulSet's are called by its
name and their ordinal, an Indexed Job's by its name and their index. What the controllers add is added: host
names, labels, annotations, claims, JOB_COMPLETION_INDEX. A container's probe is a file POD.PROBE, a word a line. An --option stands in every ConfigMap, or is taken out of
it where VALUE is missing (`podman play kube` takes Pods, and neither Jobs nor Services).

FILE has Secrets: each is laid out in OUT/secrets as the kubelet mounts it, links to links, root's, readable by
the group that fsGroup names, and the Pods mount that folder, because podman gives everybody leave to read a
Secret that it mounts itself.
"""

import argparse
import base64
import copy
import os
import pathlib

import yaml


def pod_of(template, name, kind):
    pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(template)}
    pod["metadata"]["name"] = name
    pod["metadata"]["labels"]["owner"] = kind
    pod["spec"]["hostname"] = name
    for container in pod["spec"]["containers"]:  # The kubelet says where the cluster is.
        container.setdefault("env", []).append({"name": "KUBERNETES_SERVICE_HOST", "value": "10.96.0.1"})
    return pod


def pods_of_set(manifest):
    spec, name = manifest["spec"], manifest["metadata"]["name"]
    for ordinal in range(spec["replicas"]):
        pod = pod_of(spec["template"], f"{name}-{ordinal}", "StatefulSet")
        pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = f"{name}-{ordinal}"
        pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = str(ordinal)
        pod["spec"]["subdomain"] = spec["serviceName"]
        pod["spec"].setdefault("restartPolicy", "Always")
        for claim in spec["volumeClaimTemplates"]:
            volume = claim["metadata"]["name"]
            claimed = {"claimName": f"{volume}-{name}-{ordinal}"}
            pod["spec"].setdefault("volumes", []).append({"name": volume, "persistentVolumeClaim": claimed})
        yield pod


def pods_of_job(manifest):
    spec, name = manifest["spec"], manifest["metadata"]["name"]
    assert spec["completionMode"] == "Indexed" and spec["template"]["spec"]["restartPolicy"] == "Never"
    for index in range(spec["completions"]):
        pod = pod_of(spec["template"], f"{name}-{index}", "Job")
        for of_pod in ("annotations", "labels"):
            pod["metadata"].setdefault(of_pod, {})["batch.kubernetes.io/job-completion-index"] = str(index)
        for container in pod["spec"]["containers"]:
            container["env"].append({"name": "JOB_COMPLETION_INDEX", "value": str(index)})
        yield pod


def lay_out(secret, folder, mode, group):
    """What a pod sees of a Secret: FILE -> ..data/FILE, ..data -> a folder of that moment."""
    files = folder / "..2026_11_26_06_00_00.1"
    files.mkdir(parents=True)
    (folder / "..data").symlink_to(files.name)
    for name, text in secret["data"].items():
        path = files / name
        path.write_bytes(base64.b64decode(text))
        os.chown(path, 0, group)
        path.chmod(mode | 0o440)
        (folder / name).symlink_to(f"..data/{name}")


def mount_secrets(pod, secrets, out):
    for volume in pod["spec"].get("volumes", []):
        if "secret" not in volume:
            continue
        wanted = volume.pop("secret")
        secret = secrets.get(wanted["secretName"])
        assert secret or wanted.get("optional"), f"there is no Secret {wanted['secretName']}"
        folder = out.resolve() / "secrets" / wanted["secretName"]
        if not secret:
            folder.mkdir(parents=True, exist_ok=True)
        elif not folder.exists():
            lay_out(secret, folder, wanted["defaultMode"], pod["spec"]["securityContext"]["fsGroup"])
        volume["hostPath"] = {"path": str(folder), "type": "Directory"}


def for_podman(pod, image, out):
    for container in pod["spec"]["containers"]:
        container["image"] = image
        container.pop("lifecycle", None)
        # Two servers cannot both have a port of the host, where podman would publish it.
        container.pop("ports", None)
        # podman asks systemd to run probes; pods.sh does.
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            wanted = container.pop(probe, None)
            if wanted:
                words = "".join(f"{word}\n" for word in wanted["exec"]["command"])
                (out / f"{pod['metadata']['name']}.{probe}").write_text(words)


def read(path):
    return [manifest for manifest in yaml.safe_load_all(path.read_text()) if manifest]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--image", required=True)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--secrets", type=pathlib.Path)
    arguments = parser.parse_args()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    manifests = [(path, manifest) for path in sorted(arguments.folder.glob("*.yaml")) for manifest in read(path)]
    secrets = {secret["metadata"]["name"]: secret for secret in read(arguments.secrets)} if arguments.secrets else {}
    makers = {"StatefulSet": pods_of_set, "Job": pods_of_job}
    for path, manifest in manifests:
        if manifest["kind"] == "ConfigMap":
            for name, _, value in (option.partition("=") for option in arguments.option):
                manifest["data"].pop(name, None)
                if value:
                    manifest["data"][name] = value
            (out / path.name).write_text(yaml.safe_dump(manifest))
        for pod in makers.get(manifest["kind"], lambda _: ())(manifest):
            mount_secrets(pod, secrets, out)
            for_podman(pod, arguments.image, out)
            (out / f"{pod['metadata']['name']}.yaml").write_text(yaml.safe_dump(pod))


main()
