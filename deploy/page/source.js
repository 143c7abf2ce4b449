/* source.js - where the page's data comes from: inside the page, or asked for.
 *
 * A finished comparison or run: <script type="application/json" id="data"> holds one object, a member
 * for each file, with its content (JSON as it is, other files as text, events.jsonl as an array):
 *
 *     comparison   compare.json, points.csv, methods.txt, steps.json
 *     run          run.json, events.jsonl, spans.json, virtual.json (of virtual time)
 *
 * A file that is not there is no member. Live: the object is {}, and each is asked for (GET):
 *
 *     /state                what is so now, once a second (below)
 *     /events?from=BYTE     events.jsonl from there on: whole lines, at most 1 MiB an answer
 *     /spans?steps=N        spans.json of the newest steps, or 404
 *     /logs/NAME?tail=50    text, or 404
 *     /teach                true with run --teach, or 404; POST /teach/kill/worker/0 (stop, slow, free): text
 *     /compare.json, /points.csv, /methods.txt, /steps.json, /run.json     the files of a folder, or 404
 *
 * The address may end in #token=T; the page takes it out, and sends "Authorization: Bearer T". The page
 * itself (/) has no data and needs no token. 401: the token is wrong.
 *
 * /state:
 *     {"format": "syncopate-state-1", "kind": "run" | "comparison", "name": "runs/x", "live": true,
 *      "time": 1790000000.1,                      seconds of Unix; of virtual time null
 *      "run": {...},                              of a run: the members of run.json that are known
 *      "events": 81234,                           bytes of events.jsonl
 *      "members": [{"name": "worker/0", "state": "computes" | "exchanges" | "waits" | "scores" | "serves" |
 *                   "joins" | "silent" | "lost" | "left", "for": "worker/2" | "barrier" | "lease" | "bound" | "gate" | null,
 *                   "seconds": in that state, "heard": seconds ago, "step": 17 | null,
 *                   "examples_per_second": 812.5 | null, "log": "worker-0.log" | null,
 *                   "second": {"computing": 0.7, "exchanging": 0.1, "barrier": 0.2} | null}]}
 *
 *     second: where the last second went: computing, exchanging, barrier, bound, lease, gate, scoring, other.
 *
 * spans.json: windows of a trace, in milliseconds from its beginning. steps.json: {ARM: spans.json, ...}
 *     {"virtual": true, "processes": ["worker/0", "worker/1", "ps/0"],
 *      "windows": [{"step": 17, "reason": "typical" | "slowest" | "first" (batches),
 *                   "together": true,             a step of all workers; false: a batch of process `of`
 *                   "of": 0, "from": 12.5, "to": 101.25, "text": "Step 17 took ...",
 *                   "path": [[1, 80.1], [2, 80.3], [0, 80.6]],          critical: process, time
 *                   "spans": [[process, kind, from, to, step, other, chunk, what], ...]}]}
 *     kind: "compute", "exchange", "wait", "score", "apply", "write", "send", "take"; other: a process or -1;
 *     chunk: a number or -1; what: the reason of a wait ("barrier"), a message ("RESULT": step is the
 *     version that it brings), or "". */

'use strict';

const source = (() => {
    /* null is not known: it is left out. "inf" is infinite. */
    const parse = text => JSON.parse(text, (name, value) => value === 'inf' ? Infinity : value ?? undefined);
    const inside = parse(document.getElementById('data').textContent || '{}');
    const live = Object.keys(inside).length === 0;
    let token = live && new URLSearchParams(location.hash.slice(1)).get('token');
    if (token) {
        sessionStorage.setItem('token', token); /* For a reload: it is in the address no more. */
        history.replaceState(null, '', location.pathname + location.search);
    } else if (live)
        token = sessionStorage.getItem('token');

    async function ask(path, method = 'GET') {
        const headers = token ? {Authorization: 'Bearer ' + token} : {};
        const answer = await fetch(path, {method, headers, cache: 'no-store', credentials: 'omit'});
        if (answer.status === 404) return null;
        if (!answer.ok) throw new Error(answer.status === 401 ? 'the token is missing or wrong' : 'HTTP ' + answer.status);
        return answer.text();
    }

    /* A file's content: parsed where its name ends in .json, an array of events, else text; none: undefined or null. */
    async function file(name) {
        if (!live) return inside[name];
        const text = await ask('/' + name);
        return text && name.endsWith('.json') ? parse(text) : text;
    }

    /* Each session of a run counts its seconds from 0: here one goes on where the other ended. */
    const ended = {time: 0, training_seconds: 0}, now = {time: 0, training_seconds: 0};
    function placed(event) {
        if (event.time + ended.time < now.time) Object.assign(ended, now);
        for (const name in now)
            if (typeof event[name] === 'number') event[name] = now[name] = ended[name] + event[name];
        return event;
    }

    /* Those that came since, and where to go on. */
    async function events(from) {
        if (!live) return {list: from ? [] : (inside['events.jsonl'] || []).map(placed), next: 1};
        const text = await ask('/events?from=' + from) || '';
        const whole = text.slice(0, text.lastIndexOf('\n') + 1);
        const list = whole.split('\n').flatMap(line => { try { return [placed(parse(line))]; } catch { return []; } });
        return {list, next: from + new TextEncoder().encode(whole).length};
    }

    const parsed = async path => parse(await ask(path) || 'null');
    return {live, file, events, state: () => parsed('/state'),
            spans: () => live ? parsed('/spans?steps=20') : file('spans.json'), log: name => ask('/logs/' + name + '?tail=50'),
            teaches: () => live ? parsed('/teach') : null, teach: action => ask('/teach/' + action, 'POST')};
})();
