// example.js - softmax regression on invented points, by proto/PROGRAM.md alone:
//
//     syncopate run --workers 2 --program "node example.js"
'use strict';
const fs = require('fs');

const TRAIN = 4000, TEST = 1000, INPUTS = 20, CLASSES = 4, KERNEL = INPUTS * CLASSES; // 5 times 64 bytes.
const DECLARE = 1, LAYOUT = 2, COMPUTE = 4, SCORE = 5, DONE = 7, END = 9;
const [, socket, memory] = process.env.SYNCOPATE_PROGRAM.split(',').map(Number);
delete process.env.SYNCOPATE_PROGRAM;

let state = 1;
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1;
const points = Array.from({length: TRAIN + TEST}, (_, i) => // Around one place for each class.
    Array.from({length: INPUTS}, (_, k) => random() + (k % CLASSES === i % CLASSES ? 0.6 : 0)));

function receive(bytes) {
    const body = Buffer.alloc(bytes);
    for (let at = 0, got; at < bytes; at += got)
        if ((got = fs.readSync(socket, body, at, bytes - at, null)) === 0) process.exit(0);
    return body;
}

function send(kind, serial, body) {
    const header = Buffer.alloc(16);
    header.writeUInt32LE(body.length, 0);
    header.writeUInt16LE(kind, 4);
    header.writeBigUInt64LE(serial, 8);
    const message = Buffer.concat([header, body]);
    for (let at = 0; at < message.length;) at += fs.writeSync(socket, message, at);
}

// Node cannot map the memory, and reads and writes it as a file.
function load(array, offset) {
    fs.readSync(memory, array, 0, array.byteLength, offset);
    return array;
}

// Loss of example i, and whether it is right; its gradient is added.
function learn(values, i, gradient) {
    const x = points[i], label = i % CLASSES;
    const logits = Array.from({length: CLASSES}, (_, c) =>
        x.reduce((sum, input, k) => sum + input * values[k * CLASSES + c], values[KERNEL + c]));
    const sum = logits.reduce((all, logit) => all + Math.exp(logit), 0);
    logits.forEach((logit, c) => {
        const byLogit = Math.exp(logit) / sum - (c === label ? 1 : 0);
        x.forEach((input, k) => gradient[k * CLASSES + c] += input * byLogit);
        gradient[KERNEL + c] += byLogit;
    });
    return [Math.log(sum) - logits[label], logits.indexOf(Math.max(...logits)) === label ? 1 : 0];
}

send(DECLARE, 0n, Buffer.from(JSON.stringify({
    name: 'softmax: node', examples: TRAIN, test_examples: TEST, fingerprint: process.version,
    variables: [{name: 'kernel', shape: [INPUTS, CLASSES], initializer: 'zeros'},
                {name: 'bias', shape: [CLASSES], initializer: 'zeros'}]})));
for (let places;;) {
    const header = receive(16), kind = header.readUInt16LE(4), body = receive(header.readUInt32LE(0));
    const u64 = i => Number(body.readBigUInt64LE(8 * i)), done = Buffer.alloc(16);
    if (kind === END) process.exit(0);
    if (kind === LAYOUT) {
        places = {parameters: u64(1), gradient: u64(2), examples: u64(3)};
        continue;
    }
    const values = load(new Float32Array(KERNEL + CLASSES), places.parameters), gradient = values.slice().fill(0);
    const numbers = kind === COMPUTE ? load(new Uint32Array(body.readUInt32LE(28)), places.examples) :
        kind === SCORE ? Array.from({length: u64(1)}, (_, i) => TRAIN + u64(0) + i) : [];
    const answers = Array.from(numbers, i => learn(values, i, gradient));
    if (kind === COMPUTE) fs.writeSync(memory, gradient, 0, gradient.byteLength, places.gradient);
    done.writeDoubleLE(answers.reduce((sum, [loss]) => sum + loss, 0), 0);
    done.writeBigUInt64LE(BigInt(answers.reduce((sum, [, right]) => sum + right, 0)), 8);
    send(DONE, header.readBigUInt64LE(8), done);
}
