#!/usr/bin/env python3
"""manifests.py - reads deploy/kubernetes for install.sh.

    manifests.py objects FILE...              all objects, and of a TFJob its pods, as JSON for manifests.js
    manifests.py tasks TFJOB FOLDER PORT...   prints the names of a TFJob's tasks; FOLDER/NAME.task has the words
                                              of `env` that start one as the operator would: TF_CONFIG, the
                                              container's variables, its command

Tasks run side by side here: server I has the I-th PORT of 127.0.0.1 in the place of a name of its own, and
FOLDER that of the volume /runs.
"""

import json
import pathlib
import sys

import yaml

ORDER = ["PS", "Worker", "Evaluator"]  # Of starting, which means nothing.


def read(path):
    return [found for found in yaml.safe_load_all(pathlib.Path(path).read_text()) if found]


def objects(paths):
    for path in paths:
        name = pathlib.Path(path).name
        for found in read(path):
            if found["kind"] == "TFJob":
                for role, replica in found["spec"]["tfReplicaSpecs"].items():
                    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": role.lower()}}
                    yield {"file": f"{name}, {role}", "object": {**pod, **replica["template"]}}
            elif found["kind"] != "Kustomization":  # Which kubectl reads, and no cluster.
                yield {"file": name, "object": found}


def tasks(path, folder, ports):
    job = next(found for found in read(path) if found["kind"] == "TFJob")
    replicas = job["spec"]["tfReplicaSpecs"]
    assert replicas["PS"]["replicas"] == len(ports)
    cluster = {"ps": [f"127.0.0.1:{port}" for port in ports]}
    name, workers = job["metadata"]["name"], replicas["Worker"]["replicas"]
    cluster["worker"] = [f"{name}-worker-{i}.default.svc:2222" for i in range(workers)]
    for role in ORDER:
        for index in range(replicas[role]["replicas"]):
            (container,) = replicas[role]["template"]["spec"]["containers"]
            task = {"cluster": cluster, "task": {"type": role.lower(), "index": index}, "environment": "cloud"}
            words = ["TF_CONFIG=" + json.dumps(task)]
            words += [f"{variable['name']}={variable['value']}" for variable in container["env"]]
            port = ports[index] if role == "PS" else 0
            for word in container["command"] + container.get("args", []):
                words.append(word.replace(":2222", f":{port}").replace("/runs/", f"{folder}/"))
            name_here = f"{role.lower()}-{index}"
            (pathlib.Path(folder) / f"{name_here}.task").write_text("".join(f"{word}\n" for word in words))
            print(name_here)


if sys.argv[1] == "objects":
    json.dump(list(objects(sys.argv[2:])), sys.stdout)
else:
    tasks(sys.argv[2], sys.argv[3], sys.argv[4:])
