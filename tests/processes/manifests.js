// manifests.js - are these objects of Kubernetes what their kinds' schemas say? Reads a JSON array of {file, object} on
// standard input; prints a line for each fault, and ends with 1 when there is one.
//
// The schemas are those of the npm package kubernetes-models, which let unknown members pass, as Kubernetes itself once
// did: so each object is shown to its schema through proxies that note what is looked at. What nobody looked at no
// schema knows.
'use strict';
const kinds = {
    'v1 ConfigMap': ['kubernetes-models/v1', 'ConfigMap'],
    'v1 PersistentVolumeClaim': ['kubernetes-models/v1', 'PersistentVolumeClaim'],
    'v1 Pod': ['kubernetes-models/v1', 'Pod'],
    'v1 Secret': ['kubernetes-models/v1', 'Secret'],
    'v1 Service': ['kubernetes-models/v1', 'Service'],
    'apps/v1 StatefulSet': ['kubernetes-models/apps/v1', 'StatefulSet'],
    'batch/v1 Job': ['kubernetes-models/batch/v1', 'Job'],
};

function watched(value, path, unseen) {
    if (value === null || typeof value !== 'object') return value;
    const copy = Array.isArray(value) ? [] : {};
    for (const [name, member] of Object.entries(value)) {
        const place = `${path}.${name}`;
        unseen.add(place);
        copy[name] = watched(member, place, unseen);
    }
    return new Proxy(copy, {
        get(target, name) {
            unseen.delete(`${path}.${String(name)}`);
            return target[name];
        },
    });
}

function faultsOf(object) {
    const found = kinds[`${object.apiVersion} ${object.kind}`];
    if (!found) return [`no schema of ${object.apiVersion} ${object.kind} is at hand`];
    const Model = require(found[0])[found[1]];
    const unseen = new Set();
    const faults = [];
    try {
        Model.prototype.validate.call(watched(object, '', unseen));
    } catch (fault) {
        faults.push(fault.message);
    }
    // Whoever is not looked at has members that nobody looks at either: the outermost says it.
    const unknown = [...unseen].filter((place) => ![...unseen].some((other) => place.startsWith(`${other}.`)));
    return faults.concat(unknown.map((place) => `${place} is not known`));
}

let faulty = 0;
for (const { file, object } of JSON.parse(require('fs').readFileSync(0, 'utf8')))
    for (const fault of faultsOf(object)) {
        console.log(`${file}: ${object.kind}: ${fault}`);
        faulty++;
    }
process.exit(faulty ? 1 : 0);
