/* page.js - what the page says: of a comparison, of a run, of a trace; once, or as it goes on. */

const root = document.getElementById('page');
const heading = (id, text) => h('h2', {id}, text);
const section = (id, text, ...parts) => h('section', {}, heading(id, text), parts);
const capital = text => text[0].toUpperCase() + text.slice(1);
const SCALES = [['', 'linear'], ['log', 'log']];
const para = (text, name) => text && h('p', {class: name}, text);

/* --- words --------------------------------------------------------------------------------------- */

const WORDS = {
    arm: 'One configuration of a comparison. Its runs differ in the seed alone.',
    barrier: 'In sync: the end of a step, at which all workers wait for the last gradient.',
    batch: 'The examples of one gradient of async, or of one step of sync.',
    bound: 'In ssp: how many batches a worker may be ahead of the slowest. At the bound it waits.',
    chunk: 'A piece of the variables. One server owns it, and counts its versions.',
    'critical path': 'What a step waited for: from the last gradient over its update to the last worker that could go on.',
    exchange: 'A gradient goes to the servers, and fresh values come back.',
    interval: 'Where the true mean ratio lies with 95 % confidence, if runs differ as these do. Without one there are fewer than three pairs.',
    leaf: 'The least number of examples that are computed at once. A step of sync is a sum of leaves in a fixed order.',
    lease: 'In async: a batch that server 0 gives to one worker. The batch of a lost worker goes to another.',
    seed: 'The number from which data order, first values and modelled times are drawn. Runs of one seed are compared in pairs.',
    staleness: 'How many updates others made to a chunk between the read of a gradient’s values and its own update.',
    target: 'The loss (or accuracy) to which times are compared: all arms that learn come to it.',
    update: 'A change of the values: one gradient in async, the sum of all gradients of a step in sync.',
    version: 'The number of updates that a chunk has had.',
};
function glossary() {
    return section('words', 'Words', h('dl', {class: 'words'}, Object.entries(WORDS).map(([word, text]) =>
        h('div', {}, h('dt', {}, h('dfn', {id: 'word-' + word.replace(' ', '-')}, word)), h('dd', {}, text)))));
}
/* Where the text first has a word, it is explained. */
function explain() {
    for (const word in WORDS) {
        const found = new RegExp('\\b' + word + '\\b');
        for (const part of root.querySelectorAll('section p, section figcaption span')) {
            const text = [...part.childNodes].find(node => node.nodeType === 3 && found.test(node.data));
            if (!text) continue;
            const rest = text.splitText(text.data.search(found));
            rest.data = rest.data.slice(word.length);
            rest.before(h('a', {class: 'word', href: '#word-' + word.replace(' ', '-'), title: WORDS[word]}, word));
            break;
        }
    }
}
/* --- tables -------------------------------------------------------------------------------------- */

/* columns: {head, unit, cell(row), title}; the first names the row. */
function table(caption, columns, rows, name) {
    return h('div', {class: 'wide', tabindex: '0', role: 'region', 'aria-label': caption}, h('table', {class: name},
        h('caption', {}, caption),
        h('thead', {}, h('tr', {}, columns.map(column => h('th', {scope: 'col', title: column.title}, column.head,
                                                           column.unit && h('small', {}, column.unit))))),
        h('tbody', {}, rows.map(row => h('tr', {}, columns.map((column, i) => {
            const cell = column.cell(row);
            return i ? h('td', {}, cell) : h('th', {scope: 'row'}, cell);
        }))))));
}
/* A column of means with their deviations, all with as many decimals. */
function figures_column(head, rows, of, {unit = '', scale = 1, title, most = 6} = {}) {
    const known = rows.map(of).filter(it => it && isFinite(it.mean));
    const d = Math.min(Math.ceil(median(known.map(it => decimals_for(it.mean / scale, it.deviation / scale))) || 0), most);
    return {head, unit, title, known: known.length, cell: row => {
        const it = of(row);
        return it ? with_deviation(it.mean, it.deviation, scale, d) : '–';
    }};
}

/* --- where the time went --------------------------------------------------------------------------- */

const KINDS = [['computing', 'computing'], ['exchanging', 'exchanging'], ['barrier', 'waiting at the barrier'],
               ['bound', 'waiting at the bound'], ['lease', 'waiting for a batch'], ['gate', 'waiting for a checkpoint'],
               ['scoring', 'scoring'], ['other', 'other']];
const WAITS = ['barrier', 'bound', 'lease', 'gate'];
const total_of = time => sum(KINDS.map(([kind]) => time[kind] || 0));
const waits_of = time => sum(WAITS.map(kind => time[kind] || 0));
const mean_time = workers => Object.fromEntries(KINDS.map(([kind]) => [kind, mean(workers.map(time => time[kind] || 0))]));

/* rows: {name, time, strong}; a bar each, on one axis of seconds. */
function time_bars(width, rows, modelled) {
    const used = KINDS.filter(([kind]) => rows.some(row => row.time[kind] > 0));
    if (!used.length) return canvas(width, 40, letters(4, 24, 'no seconds yet', 'faint'));
    const narrow = width < 640, legend = key(used.map(([kind, label]) => ({label, draw: swatch('time t-' + kind)})), 2, width - 2, 0);
    const names = narrow ? 0 : Math.min(most_of(rows, row => wide(row.name, 12, true)) + 12, width * 0.3);
    const say = row => seconds(total_of(row.time)) + ', ' + percent((row.time.computing || 0) / total_of(row.time)) + ' computing';
    const behind = narrow ? 10 : most_of(rows, row => wide(say(row))) + 14;
    const pitch = narrow ? 40 : 24, top = legend.height + 6, bottom = top + rows.length * pitch + 2;
    const most = Math.max(most_of(rows, row => total_of(row.time)), 1e-9), [size, unit] = time_unit(most);
    const x = axis(0, most / size, names + 2, width - behind);
    const picture = canvas(width, bottom + 40, legend.group, x_axis(x, top, bottom, modelled + unit + ' of a worker', width - 2));
    rows.forEach((row, i) => {
        const y = top + i * pitch + (narrow ? 16 : 3);
        picture.append(letters(narrow ? 2 : names - 6, narrow ? y - 4 : y + 13, clipped(row.name, narrow ? width * 0.55 : names - 8), '', narrow ? 'start' : 'end'));
        let at = 0;
        for (const [kind, label] of used) {
            const part = row.time[kind] || 0, from = x.place(at / size), to = x.place((at += part) / size);
            if (part > 0) picture.append(rect('time t-' + kind, from, y, Math.max(to - from, 0.4), 17, note(row.name + ', ' + label + ': ' + seconds(part) + ', ' + percent(part / total_of(row.time)))));
        }
        picture.append(letters(narrow ? width - 2 : x.place(at / size) + 7, narrow ? y - 4 : y + 13, say(row), 'faint halo', narrow ? 'end' : 'start'));
    });
    return picture;
}

/* --- how old ---------------------------------------------------------------------------------------- */

function quantile(histogram, part) {
    const all = sum(histogram);
    let seen = 0;
    return histogram.findIndex(count => (seen += count) >= part * all - 1e-9);
}
const mean_of = histogram => sum(histogram.map((count, i) => count * i)) / sum(histogram);

/* frames: {label, look, histogram, workers}; a share for each whole number, to the 99th percentile. */
function staleness_frames(width, frames) {
    const columns = width < 520 ? 1 : Math.min(frames.length, width < 900 ? 2 : 3), gap = 26, tall = 168;
    const each = (width - gap * (columns - 1)) / columns, rows = Math.ceil(frames.length / columns);
    const last = Math.max(4, ...frames.map(one => Math.max(quantile(one.histogram, 0.99), one.workers - 1)));
    const most = most_of(frames.flatMap(one => one.histogram.slice(0, last + 1).map(count => count / sum(one.histogram))));
    const picture = canvas(width, rows * tall + 22);
    frames.forEach((one, i) => {
        const x0 = (i % columns) * (each + gap), y0 = Math.floor(i / columns) * tall;
        const y = axis(0, 100 * most, y0 + tall - 26, y0 + 40, {room: 40});
        const left = x0 + 40, x = axis(-0.6, last + 0.6, left, x0 + each - 4);
        const all = sum(one.histogram), bar = Math.max(Math.min(x.place(1) - x.place(0) - 2, 34), 1);
        const numbers = axis(0, last, x.place(0), x.place(last), {whole: true, room: 34});
        picture.append(letters(x0, y0 + 14, clipped(one.label, each - 150), 'strong'),
                       letters(x0 + each - 4, y0 + 14, 'mean ' + fixed(mean_of(one.histogram), 2) + ', p99 ' + quantile(one.histogram, 0.99), 'faint', 'end'),
                       y_axis({...y, write: tick => fixed(tick, 0) + ' %'}, left, x0 + each - 4));
        for (let value = 0; value <= last; value++) {
            const part = (one.histogram[value] || 0) / all;
            if (part > 0) picture.append(rect('bar h' + one.look.hue, x.place(value) - bar / 2, y.place(100 * part), bar, y.place(0) - y.place(100 * part), note(one.label + ': ' + percent(part) + ' of the gradients are ' + value + ' updates old')));
        }
        for (const tick of numbers.ticks)
            picture.append(letters(x.place(tick), y0 + tall - 10, tick, 'faint', 'middle'));
        const at = x.place(one.workers - 1);
        picture.append(rule('expected', at, y0 + 30, at, y.place(0)),
                       letters(at + (at > x0 + each - 60 ? -4 : 4), y0 + 38, 'W ' + MINUS + ' 1', 'halo faint', at > x0 + each - 60 ? 'end' : 'start'));
    });
    picture.append(letters(width / 2, rows * tall + 10, 'updates of others since the values were read', 'faint', 'middle'));
    return picture;
}

/* --- a step ----------------------------------------------------------------------------------------- */

const LOOKS = {compute: 'computes', exchange: 'exchanges', wait: 'waits', score: 'scores', apply: 'applies', write: 'writes', message: 'messages'};
const LANES_MAX = 18;

/* Of very many processes those of the path, the one that the step is of, and some others. */
function lanes_of(trace, view) {
    const workers = trace.processes.map((name, i) => i).filter(i => trace.processes[i].startsWith('worker'));
    const servers = trace.processes.map((name, i) => i).filter(i => !trace.processes[i].startsWith('worker'));
    const needed = new Set([view.of, ...view.path.map(([process]) => process)]);
    const some = (list, most) => list.length <= most ? list
        : list.filter((process, i) => needed.has(process) || Math.floor(i * (most - 2) / list.length) !== Math.floor((i - 1) * (most - 2) / list.length));
    return [...some(workers, LANES_MAX - 4), ...some(servers, 4)];
}

/* Of a worker of async: [time, the version that its values have from then on]. */
const versions_of = (view, process) => view.spans.filter(span => span[0] === process && span[1] === 'take').map(span => [span[3], span[4]]);

function lanes(width, trace, view) {
    const rows = lanes_of(trace, view), pitch = 26, narrow = width < 640;
    const used = Object.entries(LOOKS).filter(([look]) => view.spans.some(span => look === 'message' ? span[7] && (span[1] === 'send' ||
        span[1] === 'take') && !trace.processes[span[0]].startsWith('worker') : span[1] === look));
    const legend = key([...used.map(([look, label]) => ({label: look === 'wait' ? 'waits (empty: nothing is done)' : label, draw: swatch('span s-' + look)})),
                        ...(view.path.length > 1 ? [{label: 'critical path', draw: (x, y) => rule('path', x, y, x + 18, y)}] : [])],
                       2, width - 2, 0);
    const left = most_of(rows, i => wide(trace.processes[i], 12, true)) + 10, top = legend.height + 8, bottom = top + rows.length * pitch;
    const length = view.to - view.from, unit = length >= 2000 ? [1000, 's'] : length < 2 ? [0.001, 'µs'] : [1, 'ms'];
    const x = axis(0, length / unit[0], left, width - 12);
    const place = at => x.place(Math.min(Math.max(at - view.from, 0), length) / unit[0]);
    const picture = canvas(width, bottom + 40, legend.group, x_axis(x, top, bottom, (trace.virtual ? 'virtual ' : '') + unit[1], width - 2));
    const row_of = process => top + rows.indexOf(process) * pitch + 4;
    rows.forEach(process => {
        const y = row_of(process), worker = trace.processes[process].startsWith('worker');
        picture.append(letters(left - 8, y + 13, trace.processes[process], !view.together && process === view.of && 'strong', 'end'), rect('lane', left, y, width - 12 - left, 18));
        const versions = versions_of(view, process);
        for (const span of view.spans) {
            const [of, kind, from, to, step, other, chunk, what] = span;
            if (of !== process || (worker && (kind === 'take' || kind === 'send'))) continue;
            if (to < view.from || from > view.to) continue;
            const look = kind === 'take' || kind === 'send' ? 'message' : kind, a = place(from), b = place(to), room = b - a - 6;
            const whom = other >= 0 ? trace.processes[other] : {lease: 'a batch', gate: 'a checkpoint', bound: 'the slowest'}[what] || 'others';
            const pale = worker && view.together && step !== view.step && kind !== 'score';
            let text = '', words = LOOKS[look] + (kind === 'compute' ? (view.together ? ' step ' : ' batch ') + step
                : kind === 'wait' ? ' for ' + whom : look === 'message' ? ': ' + what : kind === 'apply' && other >= 0 ? ' the gradient of ' + whom : '');
            if (kind === 'compute' && !view.together) {
                const before = versions.filter(([at]) => at <= from + 1e-6).pop(), after = versions.find(([at]) => at >= to - 1e-6);
                if (before && after && after[1] > before[1] && view.spans.some(one => one[0] === of && one[1] === 'exchange' && one[4] === step)) { /* Not of one that was killed. */
                    const old = after[1] - 1 - before[1];
                    text = before[1] + ' → ' + (after[1] - 1) + ', ' + old + ' old';
                    words += ': from version ' + before[1] + ', applied at ' + (after[1] - 1) + ', ' + counted(old, 'update') + ' old';
                    if (wide(text, 11) > room) text = old + ' old';
                }
            } else if (kind === 'wait') {
                text = 'waits for ' + whom;
                if (wide(text, 11) > room) text = whom;
            }
            picture.append(rect('span s-' + look + (pale ? ' pale' : ''), a, y, Math.max(b - a, 0.8), 18, note(trace.processes[process] + ' ' + words + ': ' + seconds((to - from) / 1000))));
            if (!view.together && kind === 'compute' && from > view.from) picture.append(rule('border', a, y - 3, a, y + 21));
            if (text && wide(text, 11) <= room)
                picture.append(letters((a + b) / 2, y + 13, text, 'on s-' + look, 'middle'));
        }
    });
    if (!view.together) arrows(picture, trace, view, rows, place, row_of);
    const path = view.path.filter(([process, at]) => rows.includes(process) && at >= view.from && at <= view.to + 1e-6)
        .map(([process, at]) => [place(at), row_of(process) + 9]);
    if (path.length > 1) picture.append(trail('path', path), ...[path[0], path.at(-1)].map(([cx, cy]) =>
        s('circle', {class: 'path-end', cx, cy, r: 3.5})));
    return picture;
}

/* From the read of the values of this batch to the update that it made. */
function arrows(picture, trace, view, rows, place, row_of) {
    const compute = view.spans.find(span => span[0] === view.of && span[1] === 'compute' && span[4] === view.step);
    const apply = compute && view.spans.find(span => span[1] === 'apply' && span[5] === view.of && span[2] >= compute[3] - 1e-6);
    if (!apply || !rows.includes(apply[0])) return;
    const [x1, y1, x2, y2] = [place(compute[2]) + 3, row_of(view.of) + 18, place(apply[2]), row_of(apply[0])];
    picture.append(trail('arrow', [[x1, y1], [x1, y1 + 4], [x2, y1 + 4], [x2, y2 - 5]],
                     note('from the values that it read to the update that it made')), s('path', {class: 'arrow-head', d: 'M' + (x2 - 4) + ' ' + (y2 - 7) + 'h8l-4 7z'}));
}

/* The two windows of a trace, or of one of several. */
function step_section(traces, labels) {
    const names = Object.keys(traces);
    if (!names.length) return;
    let chosen = names[0];
    const body = h('div', {});
    const show = () => {
        const trace = traces[chosen];
        const parts = trace.windows.map((view, i) => figure('step-' + view.reason, {
            title: (view.reason === 'first' ? 'The first batches' : (view.reason === 'slowest' ? 'The slowest ' : 'A typical ') + (view.together ? 'step' : 'batch')) + (names.length > 1 ? ' of ' + labels[chosen] : '')
                + ': ' + seconds((view.to - view.from) / 1000),
            sub: view.text || 'From the first batch on: all begin alike, and come out of step.',
            source: view.together ? 'From left to right what every process did. Pale: of the step before or after.'
                : 'In a box: version read → version applied at, and how many updates old. The arrow: from the read to the update of this batch.',
            draw: width => lanes(width, trace, view)}));
        body.replaceChildren(...parts);
        alone();
    };
    const select = h('select', {onchange: event => { chosen = event.target.value; show(); }}, names.map(name => h('option', {value: name}, labels[name])));
    queueMicrotask(show);
    return section('step', 'One step', names.length > 1 && h('label', {class: 'choose'}, 'of ', select), body);
}

/* --- a comparison: data ----------------------------------------------------------------------------- */

function csv(text) {
    const rows = [];
    for (const line of text.split('\n')) {
        if (!line) continue;
        if (!line.includes('"')) { rows.push(line.split(',')); continue; }
        rows.push([...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(found => found[1].replace(/^"|"$/g, '').replace(/""/g, '"')).slice(0, -1));
    }
    const names = rows.shift() || [];
    return rows.map(row => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

/* {arm: {seed: {loss, test_loss, test_accuracy: [{step, examples, seconds, bytes, value}]}}} */
function series_of(points) {
    const arms = {}, moved = {};
    for (const row of points) {
        const run = (arms[row.arm] = arms[row.arm] || {})[row.seed] = arms[row.arm][row.seed] || {};
        const point = {step: +row.step, examples: +row.examples, seconds: row.seconds === '' ? NaN : +row.seconds, value: row.value * (row.metric === 'test_accuracy' ? 100 : 1)};
        if (row.metric === 'exchanged_bytes') moved[[row.arm, row.seed, row.step]] = point.value;
        if (row.metric === 'exchanged_bytes_scored') moved[[row.arm, row.seed, row.step, 'scored']] = point.value;
        if (['loss', 'test_loss', 'test_accuracy'].includes(row.metric)) (run[row.metric] = run[row.metric] || []).push(point);
    }
    for (const [arm, seeds] of Object.entries(arms))
        for (const [seed, run] of Object.entries(seeds))
            for (const [metric, list] of Object.entries(run))
                for (const point of list) {
                    const at = [arm, seed, point.step];
                    point.bytes = metric === 'loss' ? moved[at] : moved[[...at, 'scored']] ?? moved[at];
                }
    return arms;
}

/* The loss as it is judged: the mean over the last `window` examples. */
function trailing(list, span) {
    const means = [];
    let first = 0, total = 0, weight = 0;
    const weight_of = i => list[i].examples - (i ? list[i - 1].examples : 0);
    for (let last = 0; last < list.length; last++) {
        total += weight_of(last) * list[last].value;
        weight += weight_of(last);
        while (first < last && weight - weight_of(first) >= span) { total -= weight_of(first) * list[first].value; weight -= weight_of(first++); }
        if (weight >= span * 0.999) means.push({...list[last], value: total / weight});
    }
    return means.length ? means : list;
}

/* One line of several seeds: medians at the steps of the first, with what is between the seeds. */
function together(runs, x) {
    const steps = runs[0].map(point => point.step), every = Math.ceil(steps.length / 400);
    const of = (run, name) => run.map(point => [point.step, point[name]]);
    const columns = runs.map(run => ({x: of(run, x), y: of(run, 'value')}));
    const points = [], band = [];
    steps.forEach((step, i) => {
        if (i % every && i < steps.length - 1) return;
        const ys = columns.map(run => value_at(run.y, step)), at = median(columns.map(run => value_at(run.x, step)).filter(isFinite));
        const y = median(ys.map(value => isNaN(value) ? Infinity : value));
        if (!isFinite(at) || !isFinite(y)) return;
        points.push([at, y]);
        band.push([at, least_of(ys.filter(isFinite)), most_of(ys.filter(isFinite))]);
    });
    return {points, band: runs.length > 1 ? band : null, loose: runs.length > 1 && steps.length < 3 ? runs.flatMap(run => run.map(point => [point[x], point.value])) : []};
}

function looks_of(groups) {
    const modes = unique(groups.map(group => group.mode)), several = modes.length > 1;
    return Object.fromEntries(groups.map((group, i) => {
        const hue = several ? modes.indexOf(group.mode) : i, nth = several ? groups.slice(0, i).filter(one => one.mode === group.mode).length : Math.floor(i / HUES);
        return [group.arm, {hue: hue % HUES, mark: several ? hue + 0 : i, dash: nth % DASHES.length}];
    }));
}

const Y = {loss: ['training loss', value => brief(value, 4)], test_accuracy: ['test accuracy', value => fixed(value, 2) + ' %'], test_loss: ['test loss', value => brief(value, 4)]};
const X = {seconds: 'seconds', step: 'updates', examples: 'examples', bytes: 'bytes'};

/* --- a comparison: figures --------------------------------------------------------------------------- */

function curves_section(all, points) {
    const arms = series_of(points), looks = looks_of(all.groups), groups = all.groups.filter(group => arms[group.arm]);
    const metrics = Object.keys(Y).filter(metric => groups.some(group => Object.values(arms[group.arm]).some(run => run[metric])));
    if (!metrics.length) return;
    const up = () => chosen.y === 'test_accuracy';
    const judged = all.target.kind === 'accuracy' ? 'test_accuracy' : 'loss', chosen = {x: 'seconds', y: metrics.includes(judged) ? judged : metrics[0]};
    /* Where an arm diverges the others are not flattened. */
    const losses = points.filter(row => row.metric === 'loss').map(row => +row.value).filter(value => value > 0), start = all.target.start || median(losses);
    chosen.log = most_of(losses) > 30 * least_of(losses) && !groups.some(group => group.train_loss.mean < start);
    const span = all.target.window, seeds = most_of(groups, group => group.seeds.length);

    /* Lines that are the same at every point are one. */
    function lines() {
        const list = groups.map(group => {
            const runs = Object.values(arms[group.arm]).map(run => run[chosen.y]).filter(Boolean)
                .map(run => chosen.y === 'loss' && span ? trailing(run, span) : run);
            if (!runs.length) return;
            const line = together(runs, chosen.x), times = chosen.x === 'step' && group.batches.mean ? group.updates.mean / group.batches.mean : 1;
            const put = points => points && points.map(([x, ...ys]) => [x * times, ...ys]);
            return {label: group.label, mode: group.mode, group, look: looks[group.arm], points: put(line.points), band: put(line.band), loose: put(line.loose)};
        }).filter(line => line && line.points.length);
        const merged = [];
        for (const line of list) {
            const twin = merged.find(one => one.points.length === line.points.length && one.points.every((point, i) =>
                point.every((value, k) => Math.abs(value - line.points[i][k]) <= (k ? 1e-9 * Math.abs(value) : 0.004 * one.points.at(-1)[0]))));
            if (twin) twin.label += ' = ' + line.label; else merged.push(line);
        }
        return merged;
    }

    function when(value) {
        const [size, unit] = unit_for('bytes', value);
        return chosen.x === 'seconds' ? seconds(value) : chosen.x === 'bytes' ? brief(value / size) + ' ' + unit : fixed(value, 0) + ' ' + X[chosen.x];
    }
    function options_for(series) {
        const most = most_of(series, one => most_of(one.points, point => point[0]));
        const [size, unit] = chosen.x === 'bytes' ? unit_for('bytes', most) : chosen.x === 'seconds' ? time_unit(most) : unit_for('count', most);
        const label = chosen.x === 'seconds' ? (all.virtual ? 'virtual ' : '') + unit + ' of training'
            : chosen.x === 'bytes' ? unit + ' moved by all workers' : unit + X[chosen.x];
        const ys = series.flatMap(one => one.points.map(point => point[1])), limit = 1.6 * (all.target.start || median(ys));
        const sane = series.filter(one => one.points.filter(point => point[1] <= limit).length >= one.points.length / 2);
        const clip = !up() && !chosen.log && sane.length && most_of(ys) > 2 * limit ? most_of(sane.flatMap(one => one.points.map(p => p[1])).filter(y => y <= limit)) : Infinity;
        const target = chosen.y === judged ? all.target.value * (up() ? 100 : 1) : undefined;
        return {series, size, x_label: label, log: chosen.log && !up(), target, clip,
                write_y: Y[chosen.y][1], write_x: when};
    }

    /* What the lines say. */
    function found(series) {
        const better = (a, b) => up() ? a > b : a < b, says = Y[chosen.y][0];
        const end = one => one.points.at(-1)[1], best = series.reduce((a, b) => better(end(b), end(a)) ? b : a);
        if (series.length === 1) return series[0].label + ' ends at ' + says + ' ' + Y[chosen.y][1](end(series[0]));
        const reach = (one, level) => (one.points.find(point => up() ? point[1] >= level : point[1] <= level) || [NaN])[0];
        if (series.length === 2 && chosen.y === 'loss') {
            const [a, b] = series, low = Math.max(end(a), end(b)), high = Math.min(a.points[0][1], b.points[0][1]);
            const levels = [low + 0.5 * (high - low), low + 0.02 * (high - low)].map(level => +level.toPrecision(2));
            const pairs = levels.map(level => [level, reach(a, level) / reach(b, level)]).filter(pair => isFinite(pair[1]) && pair[1] > 0);
            const say = ([level, times]) => Math.abs(Math.log(times)) < 0.02 ? 'alike at loss ' + level
                : brief(Math.max(times, 1 / times), 2) + TIMES + (times > 1 ? ' sooner' : ' later') + ' at loss ' + level;
            if (pairs.length && high > low) return b.label + ' is ' + unique(pairs.map(say)).join(', ') + (pairs.every(pair => Math.abs(Math.log(pair[1])) < 0.02) ? '' : ' than ' + a.label) + (seeds === 1 ? ' (one seed)' : '');
        }
        const worst = series.reduce((a, b) => better(end(b), end(a)) ? a : b);
        return best.label + ' ends with the ' + (up() ? 'highest ' : 'lowest ') + says + ', ' + Y[chosen.y][1](end(best)) + ' after ' + when(best.points.at(-1)[0])
            + '; ' + worst.label + ' with ' + Y[chosen.y][1](end(worst));
    }

    const many = groups.length >= 7;
    /* Of each mode the arm that is first at the target, or ends best. */
    function of_modes(series) {
        const at = one => { const reached = one.group.to_target && one.group.to_target.seconds.median; return isFinite(reached) ? reached : 1e9 + one.points.at(-1)[1]; };
        return unique(series.map(one => one.mode)).map(mode => series.filter(one => one.mode === mode).reduce((a, b) => at(b) < at(a) ? b : a));
    }
    const above = series => many && unique(series.map(one => one.mode)).length > 1 ? of_modes(series) : many ? series.slice(0, 6) : series;

    const what = () => (chosen.y === 'loss' && span ? 'Training loss, the mean over ' + fixed(span, 0) + ' examples' : capital(Y[chosen.y][0]))
        + (seeds > 1 ? '; lines: medians over seeds, bands: from the least to the greatest' : '; one seed');
    function frames(width) {
        const series = lines(), columns = width < 520 ? 1 : width < 900 ? 2 : 3, gap = 22, each = (width - gap * (columns - 1)) / columns, tall = 158;
        const options = options_for(series), ys = [...series.flatMap(one => one.points.map(p => p[1])).filter(y => y <= options.clip), options.target].filter(isFinite);
        const range = [least_of(ys), most_of(ys)];
        const most = most_of(series, one => most_of(one.points, p => p[0])), rows = Math.ceil(series.length / columns);
        const picture = canvas(width, rows * (tall + 26) + 18);
        series.forEach((one, i) => {
            const frame = line_chart(each, {...options, series: [one], grey: series.filter(other => other !== one), height: tall, quiet: true, x_high: most, y_range: range});
            const x0 = (i % columns) * (each + gap), y0 = Math.floor(i / columns) * (tall + 26);
            frame.setAttribute('x', x0);
            frame.setAttribute('y', y0 + 20);
            picture.append(mark(one.look, x0 + 6, y0 + 12), letters(x0 + 16, y0 + 16, clipped(one.label, each - 20), 'strong'), frame);
        });
        picture.append(letters(width / 2, rows * (tall + 26) + 10, options.x_label, 'faint', 'middle'));
        return picture;
    }
    const set = name => value => { chosen[name] = value; log.hidden = up(); draw_all(true); };
    const log = choice('scale', SCALES, chosen.log ? 'log' : '', value => { chosen.log = value; draw_all(true); });
    const controls = h('div', {class: 'controls'},
        metrics.length > 1 && choice('show', metrics.map(metric => [metric, Y[metric][0]]), chosen.y, set('y')),
        choice('against', Object.entries(X), chosen.x, set('x')), log);
    const source_line = (all.virtual ? 'Time is virtual. ' : '') + 'points.csv has the numbers.';
    return section('learning', 'Learning', figure('curves', {title: () => found(above(lines())), sub: () => what() + (many ? '. The best arm of each mode; all below' : ''), source: source_line, controls,
                          draw: width => line_chart(width, options_for(above(lines())))}),
        many && figure('each', {title: 'Every arm on the same scales', sub: 'In grey all others.', source: source_line, draw: frames}));
}

const target_name = target => target.kind === 'accuracy' ? 'accuracy ' + brief(100 * target.value, 4) + ' %' : 'loss ' + target.value;
function target_figure(all) {
    const target = all.target, name = target_name(target);
    const looks = looks_of(all.groups), of = group => group.to_target.seconds, rows = all.groups;
    const known = group => isFinite(of(group).median), reached = rows.filter(known), never = rows.filter(group => !known(group));
    if (!reached.length) return;
    const paired = group => group.beside_reference ? group.beside_reference.time.value : 1;
    const best = reached.reduce((a, b) => paired(b) < paired(a) ? b : a);
    const d = decimals_for(of(best).median, median(reached.map(group => of(group).deviation).filter(isFinite)));
    function beside(group, brief_) {
        const it = group.beside_reference;
        return !it ? 'the reference' : ratio(it.time) + (it.word && it.word !== 'never' && !brief_ ? ', ' + it.word : '');
    }
    const time = group => fixed(of(group).median, d) + ' s';
    return figure('target', {
        title: (reached.length > 1 ? 'Seed by seed ' + best.label + ' is first at ' + name : best.label + ' alone reaches ' + name) + ', in ' + time(best) + (never.length ? '; ' + (never.length === 1 ? never[0].label : never.length + ' arms') + ' never' : ''),
        sub: 'Seconds of training until then: the median over seeds, small: each run; the line: ' + (reached.some(group => isFinite(of(group).low)) ? 'the 95 % interval of the mean' : 'no interval, for there are fewer than three seeds')
            + '. Beside it the time in that of ' + all.groups[0].label + ', seed by seed.',
        source: (target.asked_for ? 'The target was asked for. ' : 'The target is the worst end of the runs that learned. ') + 'runs.csv and compare.json have the numbers.',
        draw: width => {
            const narrow = width < 700, pitch = narrow ? 46 : 26, names = narrow ? 0 : Math.min(most_of(rows, group => wide(group.label, 12, true)) + 16, width * 0.28);
            const behind = narrow ? 12 : most_of(rows, group => wide(beside(group))) + wide('10,000 s') + 34;
            const ends = rows.flatMap(group => [of(group).median, Math.max(of(group).low, 0), of(group).high, ...group.to_target.each]).filter(isFinite);
            const log = least_of(ends) > 0 && most_of(ends) > 40 * least_of(ends);
            const bottom = rows.length * pitch + 4, x = axis(log ? least_of(ends) * 0.8 : 0, most_of(ends) * 1.03, names + 8, width - behind, {log});
            const picture = canvas(width, bottom + 40, x_axis(x, 2, bottom, (all.virtual ? 'virtual seconds' : 'seconds') + ' to ' + name, width - 2));
            rows.forEach((group, i) => {
                const y = i * pitch + (narrow ? 32 : 16), it = of(group), at = it.median, text = time(group);
                picture.append(letters(narrow ? 2 : names, narrow ? y - 16 : y + 4, clipped(group.label, narrow ? width - 16 - wide(beside(group, true)) : names), group === best && 'strong', narrow ? 'start' : 'end'));
                for (const one of group.to_target.each.filter(isFinite)) picture.append(mark(looks[group.arm], x.place(one), y, {small: true, hollow: true}));
                if (isFinite(at)) {
                    const low = Math.max(it.low, x.low), high = it.high;
                    if (isFinite(low) && isFinite(high)) picture.append(rule('whisker h' + looks[group.arm].hue, x.place(low), y, x.place(high), y));
                    picture.append(mark(looks[group.arm], x.place(at), y, {note: group.label + ': ' + text}));
                } else picture.append(letters(x.place(x.low) + 6, y + 4, 'never (' + group.to_target.reached + ' of ' + counted(group.to_target.runs, 'run') + ')', 'faint'));
                if (narrow) picture.append(letters(width - 2, y - 16, isFinite(at) ? beside(group, true) : '', 'faint', 'end'));
                else if (isFinite(at)) picture.append(letters(width - behind + wide('10,000 s') + 8, y + 4, text, 'strong', 'end'),
                                                      letters(width - behind + wide('10,000 s') + 22, y + 4, beside(group), 'faint'));
            });
            return picture;
        }});
}

function time_section(all) {
    const groups = all.groups.filter(group => (group.time || []).length);
    if (!groups.length) return;
    const share = group => waits_of(mean_time(group.time)) / total_of(mean_time(group.time));
    const most = groups.reduce((a, b) => share(b) > share(a) ? b : a), least = groups.reduce((a, b) => share(b) < share(a) ? b : a);
    const seeds = most_of(groups, group => group.seeds.length), unit = all.virtual ? 'virtual ' : '';
    const every = h('details', {}, h('summary', {}, 'every worker'), figure('workers', {
        title: 'Each worker of each arm', sub: seeds > 1 ? 'Means over seeds.' : '', source: 'run.json of each run has the numbers.',
        draw: width => time_bars(width, groups.flatMap(group => group.time.slice(0, 16).map((time, i) => ({name: group.label + ', worker ' + i, time}))), unit)}));
    every.addEventListener('toggle', () => draw_all());
    return section('seconds', 'Where every second went', figure('time', {
        title: groups.length > 1 && share(most) - share(least) > 0.02 ? most.label + ' waits for ' + percent(share(most)) + ' of its seconds, ' + least.label + ' for ' + percent(share(least))
            : 'Workers wait for ' + percent(share(most)) + ' of their seconds',
        sub: 'Each bar is an arm: the mean of its workers' + (seeds > 1 ? ' and seeds.' : '.'), source: 'run.json of each run has the numbers.',
        draw: width => time_bars(width, groups.map(group => ({name: group.label, time: mean_time(group.time)})), unit)}), every);
}

/* of: the frames, as they are now. */
function staleness_section(of, source_line) {
    return section('stale', 'How old gradients were', figure('staleness', {
        title() {
            const oldest = of().reduce((a, b) => quantile(b.histogram, 0.99) > quantile(a.histogram, 0.99) ? b : a);
            return 'A gradient of ' + oldest.label + ' is ' + brief(mean_of(oldest.histogram)) + ' updates old on average, and one in a hundred more than ' + quantile(oldest.histogram, 0.99);
        },
        sub: 'Share of the gradients, counted chunk by chunk. The mean is about W ' + MINUS + ' 1, one less than the workers, whatever their speeds: only the shape is news.',
        source: source_line, draw: width => staleness_frames(of().length > 1 ? width : Math.min(width, 640), of())}));
}
function compared_staleness(all) {
    const looks = looks_of(all.groups), groups = all.groups.filter(group => group.staleness && sum(group.staleness.histogram) > 0), apart = groups.filter(group => group.staleness.apart);
    return groups.length > 0 && staleness_section(() => groups.map(({label, arm, staleness, workers}) => ({label, look: looks[arm], histogram: staleness.histogram, workers})),
        apart.length ? 'Sum and renewed do not add up to what is expected: ' + listed(apart.map(one => one.label)) + '.'
            : 'In every arm the sum and what was renewed are what W and the updates let expect (compare.json).');
}

function tables(all) {
    const groups = all.groups, name = {head: 'arm', cell: group => group.label}, target = all.target, out = [];
    const bytes = of => unit_for('bytes', most_of(groups.map(of).filter(isFinite)));
    const beside = (of, other = '1') => group => group.beside_reference ? of(group.beside_reference) || '–' : other;
    if (target.value) {
        const of = (head, what, options) => figures_column(head, groups, group => ({mean: group.to_target[what].median, deviation: group.to_target[what].deviation}), options);
        const [size, unit] = bytes(group => group.to_target.exchanged_bytes.median);
        out.push(table('To ' + target_name(target), [name, {head: 'reached', unit: 'of runs', cell: group => group.to_target.reached + ' of ' + group.to_target.runs},
            of('time', 'seconds', {unit: all.virtual ? 'virtual s' : 's'}),
            {head: 'time, beside ' + groups[0].label, unit: 'times', cell: beside(it => ratio(it.time))},
            {head: 'it is', cell: beside(it => it.word, '–'), title: 'Words are for all arms at once, at 5 %, by Holm.'},
            {head: 'work', unit: 'times', title: 'Examples until then, beside the first arm', cell: beside(it => ratio({value: it.work.value}))},
            {head: 'pace', unit: 'times', title: 'Examples a second, beside the first arm', cell: beside(it => ratio({value: it.pace.value}))},
            of('examples', 'examples'), of('moved', 'exchanged_bytes', {unit, scale: size})], groups));
        const rungs = (target.ladder || []).slice(1).map((value, i) => ({head: 'to ' + value, unit: 'times', cell: group => {
            const rung = group.to_target.ladder[i + 1];
            return group === groups[0] ? (isFinite(rung.median) ? '1' : 'never') : rung ? ratio(rung.time) : '–';
        }}));
        if (rungs.length) out.push(table('To deeper losses, time beside ' + groups[0].label, [name, ...rungs], groups));
    }
    const simple = (head, member, options) => figures_column(head, groups, group => group[member], options), [size, unit] = bytes(group => group.exchanged_bytes.mean);
    const scored = groups.some(group => group.test_accuracy.mean >= 0), part = (head, member, unit = '%') => simple(head, member, {unit, scale: 0.01});
    out.push(table('Whole runs', [name, {head: 'seeds', cell: group => group.seeds.length}, simple('updates', 'updates'), {head: 'an update of', unit: 'computations ' + TIMES + ' examples',
        cell: group => group.update && group.update.computations ? brief(group.update.computations) + ' ' + TIMES + ' ' + brief(group.update.examples) : '–'},
        simple('training', 'seconds', {unit: 's'}), simple('pace', 'images_per_second', {unit: 'examples/s'}), simple('final loss', 'train_loss'),
        part('test accuracy', 'test_accuracy'), {head: 'accuracy is', unit: 'within ' + all.margin + ' points', cell: beside(it => it.accuracy_parity, '–'), known: scored},
        simple('waiting', 'wait_seconds', {unit: 's a worker'}), simple('moved', 'exchanged_bytes', {unit, scale: size}), part('dropped', 'dropped', '% of examples'), part('longer leaves', 'longer_leaves'),
        part('others', 'others_share', '% of processors'), part('sent back', 'sent_back'), part('lost', 'lost'), simple('rate', 'rate_factor', {unit: 'times'}), part('compensated', 'compensated')]
        .filter(column => column.known ?? true), groups));
    return section('numbers', 'All numbers', out,
        para(PLUS_MINUS + ': the sample standard deviation, of three seeds at least. The same as text: table.txt, table.md, table.tex, runs.csv.', 'faint'));
}

/* The first thing that is said: of the answer what comes first, without intervals. */
const finding = all => all.answer[0].split(/;|\.$/)[0].replace(/\s(\[[^\]]*\]|\([^)]*apart\))/g, '').replace(/(\d)x\s/g, '$1' + TIMES + ' ');

function show_comparison(all, points, methods, steps) {
    /* What is so in all arms does not tell them apart. */
    if (unique(all.groups.map(group => group.workers)).length === 1) all.groups.forEach(group => { group.label = group.label.replace(/,\s\d+\sworkers?(?=,|$)/, ''); });
    const labels = Object.fromEntries(all.groups.map(group => [group.arm, group.label]));
    const given = all.groups.filter(group => group.given || group.options).map(group => h('li', {}, group.label + ': ', h('code', {}, [group.given, group.options].filter(Boolean).join(' '))));
    const to_come = all.runs_planned - all.runs_done - all.failed.length;
    show('Syncopate: ' + finding(all), [
        h('header', {}, h('p', {class: 'kicker'}, 'Syncopate, training runs compared'), h('h1', {}, finding(all)),
          (to_come > 0 || all.failed.length > 0) && para(counted(all.runs_done, 'run') + ' of ' + all.runs_planned + ' so far' + (all.failed.length ? ', ' + all.failed.length + ' failed' : ''), 'bad'),
          para(all.ended, 'bad'), h('ul', {class: 'failed'}, all.failed.map(run => h('li', {}, h('code', {}, run.run), ': ' + run.reason))),
          all.answer.map((sentence, i) => para(sentence, i ? 'faint' : 'lead')), all.notes.map(text => para(text, 'warn')),
          para(all.remark, all.same_bits === false ? 'bad' : 'good'), h('ul', {class: 'arms'}, given)),
        curves_section(all, csv(points || '')),
        all.target.value && section('reach', 'Time to the target', target_figure(all)), time_section(all), compared_staleness(all), step_section(steps || {}, labels), tables(all),
        section('methods', 'How it was measured', para(methods), h('h4', {}, 'Command'), h('pre', {}, all.command)), glossary()]);
}

/* --- a run ------------------------------------------------------------------------------------------- */

const FAULTS = ['taught', 'lost', 'generation', 'set_aside', 'stopped', 'failed', 'killed', 'checkpoint_failed'];
const QUIET = ['progress', 'window'];
const process_of = event => event.role !== undefined ? event.role + '/' + event.index : '';

/* What happened, in words; null: it goes without saying. */
function say_event(event) {
    const rest = Object.entries(event).filter(([name, value]) => !['time', 'event', 'training_seconds', 'role', 'index'].includes(name) && typeof value !== 'object');
    switch (event.event) {
    case 'taught': case 'waiting': return event.text;
    case 'awaited': return 'all others wait for ' + process_of(event);
    case 'awaited_over': return process_of(event) + ' is waited for no more: ' + seconds(event.seconds) + ' without progress';
    case 'back': return process_of(event) + ' is back, and nothing of it was lost';
    case 'joined': return process_of(event) + ' joins';
    case 'start': return 'training begins: ' + event.mode + ', ' + counted(event.workers, 'worker') + ', ' + counted(event.servers, 'server') + ', from batch ' + event.step + ' of ' + event.steps;
    case 'assignment': return 'work is dealt to ' + counted(event.members, 'worker');
    case 'epoch': return 'epoch ' + event.epoch + ' ends' + (isFinite(event.loss) ? ', loss ' + brief(event.loss, 4) : '');
    case 'evaluation': return 'scored after batch ' + event.step + (isFinite(event.test_accuracy) ? ': accuracy ' + percent(event.test_accuracy, 4) : '') + (isFinite(event.test_loss) ? ', loss ' + brief(event.test_loss, 4) : '');
    case 'checkpoint': return 'checkpoint of batch ' + event.step;
    case 'lost': return process_of(event) + ' is lost' + (event.why ? ': ' + event.why : '');
    case 'generation': return 'training goes back to batch ' + event.step + ', and on from there';
    default: return (process_of(event) + ' ' + event.event + ' ' + rest.map(([name, value]) => name + ' ' + value).join(', ')).trim();
    }
}

function run_events(data) {
    const list = data.events.filter(event => !QUIET.includes(event.event)).map(event => ({at: event.time, text: say_event(event), fault: FAULTS.includes(event.event), kind: event.event}));
    for (const one of (data.virtual || {}).happened || []) list.push({at: one.seconds + data.begin, text: one.text, fault: true, kind: 'planned'});
    list.sort((a, b) => a.at - b.at);
    /* Those who join one after the other are one line. */
    return list.reduce((kept, one) => {
        const last = kept.at(-1);
        if (last && one.kind === 'joined' && last.kind === 'joined' && one.at - last.at < 5) last.text = last.text.replace(/\sjoins?$/, '') + ', ' + one.text.replace(/s$/, '');
        else kept.push({...one});
        return kept;
    }, []);
}

/* "in the middle of it a fault": places on the clock of training. */
function run_marks(data) {
    return run_events(data).filter(one => one.fault && one.kind !== 'generation').map(one => ({x: Math.max(one.at - data.begin, 0), text: seconds(one.at) + ': ' + one.text,
        label: /again|back/.test(one.text) || (data.virtual && one.kind === 'lost') ? '' : one.text.split(/;|:/)[0].replace(' is ', ' ')}));
}

function run_title(data) {
    const run = data.run, faults = run.faults || {}, lost = [[faults.workers_lost, 'worker'], [faults.servers_lost, 'server']].filter(([count]) => count > 0).map(([count, what]) => counted(count, what) + ' lost');
    const state = {done: 'done', stopped: 'stopped, and can go on', failed: 'failed', running: 'under way'}[run.state] || run.state || 'under way';
    return run.mode + ' with ' + counted(run.workers, 'worker') + ': ' + state + (isFinite(run.test_accuracy) ? ', test accuracy ' + percent(run.test_accuracy, 3)
        : isFinite(run.train_loss) ? ', loss ' + brief(run.train_loss) : '') + (isFinite(run.seconds) ? ' after ' + seconds(run.seconds) : '')
        + (lost.length ? '; ' + listed(lost) + (run.state === 'done' ? ', and all its batches made' : '') : '');
}
function run_words(data) {
    const run = data.run, faults = run.faults || {}, loss = (of, value) => isFinite(value) && of + ' loss ' + brief(value, 4), said = parts => parts.filter(Boolean).join('; ');
    return [para(run.reason, run.state === 'failed' ? 'bad' : 'warn'),
        para(said([counted(run.step || 0, 'batch', 'batches') + ' of ' + fixed(run.steps, 0) + (isFinite(run.images_per_second) ? ', ' + brief(run.images_per_second) + ' examples a second' : ''),
            loss('training', run.train_loss), loss('test', run.test_loss)]) + '.', 'lead'),
        para(said([run.model, run.data, counted(run.servers, 'server'), 'batch ' + run.global_batch, run.optimizer + ' ' + run.learning_rate, 'seed ' + run.seed, run.virtual && 'virtual time: ' + run.virtual]), 'faint'),
        faults.recomputed > 0 && para(counted(faults.recomputed, 'batch', 'batches') + ' were computed again after ' + counted(faults.generation, 'return') + ' to a checkpoint.', 'warn'),
        faults.bad_gradients > 0 && para(counted(faults.bad_gradients, 'gradient') + ' not finite.', 'bad')].filter(Boolean);
}

function run_curves(data) {
    const chosen = {y: 'loss'}, of = (kind, member, scale = 1) => data.events.filter(event => event.event === kind && isFinite(event[member]))
        .map(event => [event.training_seconds ?? event.time - data.begin, event[member] * scale]);
    const line = (label, points) => ({label, look: {hue: 0, mark: 0, dash: 0}, points: smooth(points)});
    const scores = points => ({label: 'test', look: {hue: 1, mark: 1, dash: 0}, points, loose: points});
    const Ys = {loss: ['loss', () => [line('training', of('progress', 'loss')), scores(of('evaluation', 'test_loss'))], value => brief(value, 4)],
        accuracy: ['accuracy', () => [line('training', of('progress', 'accuracy', 100)), scores(of('evaluation', 'test_accuracy', 100))], value => fixed(value, 2) + ' %'],
        pace: ['examples a second', () => [line('examples/s', of('progress', 'images_per_second'))], value => brief(value)],
        staleness: ['staleness', () => [line('mean so far', of('progress', 'staleness_mean'))], value => brief(value)]};
    /* Over a twentieth of the points: single batches are mostly noise. */
    function smooth(points) {
        const half = Math.floor(points.length / 40), backs = data.events.filter(event => event.event === 'generation').map(event => event.time - data.begin);
        let rest = points;
        return [...backs, Infinity].flatMap(back => {
            const part = rest.filter(([x]) => x <= back), last = part.at(-1);
            rest = rest.slice(part.length);
            return [...part.map(([x], i) => [x, mean(part.slice(Math.max(0, i - half), i + half + 1).map(point => point[1]))]), ...(last && rest.length ? [[last[0], NaN]] : [])];
        });
    }
    const series = () => Ys[chosen.y][1]().filter(one => one.points.length);
    const kinds = Object.keys(Ys).filter(kind => kind !== 'staleness' || data.run.mode !== 'sync');
    function title() {
        const [line] = series(), [says, , write] = Ys[chosen.y];
        if (!line) return 'Nothing to show yet';
        const [[, a], [at, b]] = [line.points[0], line.points.at(-1)];
        return capital(says) + (b < a ? ' falls from ' : ' rises from ') + write(a) + ' to ' + write(b) + ' in ' + seconds(at);
    }
    const set = name => value => { chosen[name] = value; draw_all(true); };
    return section('learning', 'Learning', figure('curves', {title, sub: () => 'Means over a twentieth of the points' + (run_marks(data).length ? '; in red what went wrong.' : '.'),
        source: 'events.jsonl has the numbers.', controls: h('div', {class: 'controls'}, choice('show', kinds.map(kind => [kind, Ys[kind][0]]), chosen.y, set('y')), choice('scale', SCALES, '', set('log'))),
        draw: width => {
            const list = series(), [size, unit] = time_unit(most_of(list, one => one.points.at(-1)[0]));
            return line_chart(width, {series: list, size, x_label: (data.run.virtual ? 'virtual ' : '') + unit + ' of training',
                log: chosen.log, events: run_marks(data), write_y: Ys[chosen.y][2], write_x: seconds});
        }}));
}

function run_time(data) {
    const times = () => (data.run.worker_details || []).map(worker => ({computing: worker.compute_seconds, exchanging: worker.exchange_seconds, ...worker.waits,
        scoring: worker.evaluate_seconds, other: worker.other_seconds}));
    if (!times().length) return;
    function title() {
        const all = mean_time(times()), most = most_of(data.run.worker_details, worker => worker.awaited_seconds || 0);
        if (!total_of(all)) return 'No worker has computed';
        return 'Workers compute for ' + percent(all.computing / total_of(all)) + ' of their time and wait for ' + percent(waits_of(all) / total_of(all))
            + (most > 0.02 * total_of(all) ? '; others waited ' + seconds(most) + ' for worker ' + data.run.worker_details.findIndex(worker => worker.awaited_seconds === most) : '');
    }
    return section('seconds', 'Where every second went', figure('time', {title, sub: 'A bar for each worker, from when it came.', source: 'worker_details in run.json.',
        draw: width => time_bars(width, times().slice(0, 64).map((time, i) => ({name: 'worker ' + i, time})), data.run.virtual ? 'virtual ' : '')}));
}

function run_staleness(data) {
    const it = data.run.staleness;
    return it && it.count && staleness_section(() => [{label: data.run.mode, look: {hue: 0}, histogram: data.run.staleness.histogram, workers: data.run.workers}],
        'staleness in run.json: sum ' + fixed(it.sum, 0) + ' + renewed ' + fixed(it.renewed, 0) + ' = expected ' + fixed(it.expected, 0) + '.');
}

function members_table(data) {
    const live = data.members;
    if (live) return table('Members now', [{head: 'member', cell: one => one.name},
        {head: 'state', cell: one => h('span', {class: ['silent', 'lost'].includes(one.state) && 'bad'}, one.state + (one.for ? ' for ' + one.for : '')
            + (['waits', 'silent', 'lost'].includes(one.state) ? ', ' + seconds(one.seconds, 2) : ''))},
        {head: 'last second', cell: one => one.second && h('span', {class: 'mini'}, KINDS.filter(([kind]) => one.second[kind] > 0).map(([kind, label]) => {
            const bar = h('i', {class: 't-' + kind, title: label + ' ' + percent(one.second[kind])});
            bar.style.width = 60 * one.second[kind] + 'px';
            return bar;
        }))},
        {head: 'examples/s', cell: one => one.examples_per_second === undefined ? '' : brief(one.examples_per_second)}, {head: 'batch', cell: one => one.step ?? ''},
        {head: 'heard', unit: 'ago', cell: one => one.heard === undefined ? '' : seconds(one.heard, 2)},
        {head: 'log', cell: one => one.log && h('button', {type: 'button', onclick: () => show_log(one.log)}, one.log)}], live, 'members');
    const workers = (data.run.worker_details || []).map((worker, i) => ({...worker, name: 'worker ' + i}));
    if (!workers.length) return;
    const pick = (head, of, options) => figures_column(head, workers, worker => ({mean: of(worker), deviation: NaN}), options), stale = workers.some(worker => worker.staleness && worker.staleness.count);
    return table('Each worker', [{head: 'worker', cell: worker => worker.name}, {head: 'batches', cell: worker => fixed(worker.batches, 0)}, {head: 'examples', cell: worker => fixed(worker.examples, 0)},
        pick('pace', worker => worker.examples / worker.wall_seconds, {unit: 'examples/s', most: 1}),
        pick('waiting', worker => worker.wait_seconds / worker.wall_seconds, {unit: '%', scale: 0.01, most: 2}), pick('awaited by others', worker => worker.awaited_seconds, {unit: 's', most: 3}),
        ...(stale ? [pick('staleness', worker => worker.staleness.mean, {unit: 'mean', most: 2}), {head: 'staleness', unit: 'most', cell: worker => worker.staleness.max}] : [])], workers);
}
async function show_log(name) {
    const pane = document.getElementById('log');
    pane.textContent = await source.log(name) || 'there is no such log';
    pane.hidden = false;
}

/* run --teach: what is done stands among the events, before what comes of it. */
function teach_section(data) {
    const names = data.members.map(one => one.name), says = h('p', {role: 'status', class: 'sub'}, 'What comes of it stands below, under "What happened".');
    let chosen = names[0];
    const action = (name, label) => h('button', {type: 'button', onclick: async () => {
        const text = await source.teach(name + '/' + chosen).catch(error => 'Not done: ' + error.message) || 'The launcher has no such process';
        says.textContent = text;
        data.events.push({time: most_of(data.events, event => event.time), event: 'taught', text});
    }}, label);
    return section('teach', 'Disturb it', h('div', {class: 'controls'}, choice('process', names.map(name => [name, name]), chosen, name => { chosen = name; })),
        h('div', {class: 'controls'}, action('kill', 'kill'), action('stop', 'stop for 5 s'), action('slow', '4 ' + TIMES + ' slower'), action('free', 'full speed')), says);
}

function events_list(data) {
    return h('ol', {class: 'events'}, run_events(data).slice(-300).map(one => h('li', {class: one.fault && 'fault'},
        h('time', {}, data.run.virtual || one.at < 1e8 ? fixed(Math.max(one.at, 0), one.at < 1000 ? 2 : 0) + ' s' : new Date(1000 * one.at).toLocaleTimeString()), h('span', {}, one.text))));
}

function show_run(data) {
    const header = h('header', {}), members = h('div', {}), events = h('div', {}), live = source.live;
    data.redraw = () => {
        header.replaceChildren(h('p', {class: 'kicker'}, 'Syncopate, a run' + (live ? ', live' : '') + (data.name ? ': ' + data.name : '')), h('h1', {}, run_title(data)), ...run_words(data));
        members.replaceChildren(members_table(data) || '');
        events.replaceChildren(events_list(data));
        for (const name of ['curves', 'time', 'staleness']) if (figures.has(name)) figures.get(name).redraw(true);
    };
    data.redraw();
    const facts = Object.entries(data.run).filter(([, value]) => typeof value !== 'object' && value !== '').map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value))));
    show('Syncopate: ' + run_title(data), [header, run_curves(data), run_time(data), run_staleness(data), data.spans && step_section({run: data.spans}, {run: data.run.mode}),
        section('members', 'Members', members, h('pre', {id: 'log', hidden: true})), data.teaches && teach_section(data), section('events', 'What happened', events),
        section('numbers', 'run.json', h('details', {}, h('summary', {}, 'all its numbers'), h('dl', {class: 'facts'}, facts))), glossary()]);
}

/* --- the page ---------------------------------------------------------------------------------------- */

function show(title, parts) {
    document.title = title;
    root.replaceChildren(...parts.filter(Boolean));
    root.firstChild.after(h('nav', {'aria-label': 'Contents'}, [...root.querySelectorAll('h2')].map(one => h('a', {href: '#' + one.id}, one.textContent))));
    explain();
    alone();
}

/* #figure=NAME: that one, as large as the window. */
function alone() {
    const name = new URLSearchParams(location.hash.slice(1)).get('figure'), it = name && figures.get(name);
    document.body.classList.toggle('alone', !!it);
    figures.forEach(one => one.element.classList.toggle('chosen', one === it));
    const around = it && it.element.closest('details');
    if (around) around.open = true;
    draw_all();
}

const a_second = () => new Promise(resolve => setTimeout(resolve, 1000));

/* What run.json says, once there is one: before, of whom the job waits. */
async function declared() {
    for (;; await a_second()) {
        const state = await source.state().catch(error => ({waiting: error.message})) || {};
        const run = state.run ? await source.file('run.json') : null;
        if (run) return run;
        root.replaceChildren(h('h1', {}, 'Nothing is trained yet'), para(state.waiting || 'waiting for a job'));
    }
}

async function follow(data) {
    let next = 0;
    data.run = await declared();
    async function look() {
        const state = await source.state(), more = await source.events(next);
        Object.assign(data.run, state.run);
        data.name = state.name;
        data.members = state.members;
        data.events.push(...more.list);
        next = more.next;
    }
    await look();
    data.spans = await source.spans();
    data.teaches = await source.teaches();
    show_run(data);
    const bad = h('p', {class: 'bad', role: 'alert', hidden: true});
    root.prepend(bad);
    for (;; await a_second())
        try {
            await look();
            data.redraw();
            bad.hidden = true;
        } catch (error) {
            bad.textContent = 'No answer: ' + error.message + '. What is shown is from before. If the command has ended, report.html in its folder has all of it.';
            bad.hidden = false;
        }
}

async function begin() {
    addEventListener('hashchange', alone);
    const data = {events: [], get begin() { return (data.events.find(event => event.event === 'start') || {time: 0}).time; }};
    const state = source.live && await source.state().catch(() => ({kind: 'run'}));
    if (state && state.kind === 'run') return follow(data);
    const compared = await source.file('compare.json');
    if (compared) return show_comparison(compared, await source.file('points.csv'), await source.file('methods.txt'), await source.file('steps.json'));
    data.run = await source.file('run.json');
    data.spans = await source.spans();
    if (!data.run) return show('Syncopate: a trace', [h('header', {}, h('h1', {}, 'A trace')), data.spans && step_section({trace: data.spans}, {trace: ''}), glossary()]);
    data.name = await source.file('name');
    data.events = (await source.events(0)).list;
    data.virtual = await source.file('virtual.json');
    show_run(data);
}

new ResizeObserver(() => draw_all()).observe(document.body);
/* On paper all is as wide as the paper. */
addEventListener('beforeprint', () => draw_all(true));
begin().catch(error => root.replaceChildren(h('h1', {}, 'The page cannot be drawn'), h('p', {class: 'bad'}, String(error && error.message || error))));
