/* figure.js - the page of one figure: dots with intervals, a line through medians, or a heat map. Its data is
 * figure.json: what `syncopate figure` was asked (title, notes, x, y, by, ratio, log, ideal, map) and lines, each
 * {label, points: [{x, value, low, high, runs}]}. */

const NAMES = {time: 'seconds to the target', work: 'examples to the target', seconds: 'seconds of training', images_per_second: 'examples a second',
               train_loss: 'final training loss', test_accuracy: 'test accuracy, %', ms_per_update: 'milliseconds an update', staleness_mean: 'staleness, mean, updates',
               'step_p50,step_p99': 'milliseconds a step', 'backup-workers': 'workers that are not waited for', mode: '', comparison: '', arm: ''};
const named = name => NAMES[name] ?? name.replace(/[-_]/g, ' ');
const plain = value => (Number.isInteger(value) ? fixed(value, 0) : String(+value.toPrecision(2))).replace('-', MINUS);

function points_of(it) {
    const xs = unique(it.lines.flatMap(line => line.points.map(point => point.x))), numeric = xs.every(x => isFinite(+x));
    const at = x => numeric ? +x : xs.indexOf(x);
    return {xs: numeric ? xs.map(Number).sort((a, b) => a - b) : xs, numeric, lines: it.lines.map((line, i) => ({
        label: line.label.replace(/step_p/, 'p'), look: {hue: i % HUES, mark: i, dash: Math.floor(i / HUES) % DASHES.length},
        points: line.points.map(point => ({x: at(point.x), y: point.value, low: point.low, high: point.high, runs: point.runs}))
            .sort((a, b) => a.x - b.x)}))};
}
const words_x = (of, it) => it.x === 'comparison' || it.x === 'arm' ? '' : named(it.x) + (of.numeric && it.log.includes('x') ? ' (log)' : '');
const words_y = it => (it.ratio ? named(it.y).replace(/,\s%$/, '') + ', times that of the first' : named(it.y)) + (it.log.includes('y') ? ' (log)' : '');

function axis_of_x(of, it, left, right) {
    if (!of.numeric) return {...axis(-0.5, of.xs.length - 0.5, left, right), ticks: of.xs.map((x, i) => i), write: i => of.xs[i]};
    const log = it.log.includes('x') && of.xs[0] > 0, [low, high] = [of.xs[0], of.xs.at(-1)], spare = (high - low) * 0.03;
    const x = axis(log ? low * 0.94 : low - spare, log ? high * 1.06 : high + spare, left, right, {log});
    return of.xs.length <= 16 ? {...x, ticks: of.xs, write: plain} : x;
}

function chart(width, it) {
    const of = points_of(it), beside = width >= 640 && of.lines.length > 1, all = of.lines.flatMap(line => line.points), log = it.log.includes('y');
    const legend = beside || of.lines.length < 2 ? {group: null, height: 0} : key(of.lines.map(line => ({label: line.label, draw: line_key(line.look)})), 2, width - 2, 0);
    const right = beside ? Math.min(most_of(of.lines, line => wide(line.label)), width * 0.34) + 34 : 16;
    const ideals = it.ideal.map(text => text.split(',').map(pair => pair.split(':').map(Number)));
    const medians = all.map(point => point.y).filter(isFinite), most = most_of(medians), least = least_of(medians);
    const ends = [...all.flatMap(point => [point.low, point.high]), ...ideals.flat().map(([, y]) => y)].filter(y => isFinite(y) && y >= least / 1.5 && y <= most * 1.5);
    let [low, high] = [Math.min(least, ...ends), Math.max(most, ...ends)];
    if (log) [low, high] = [low / 1.05, high * 1.05];
    else [low, high] = [low >= 0 && low < high * 0.4 ? 0 : low - (high - low) * 0.05, high + (high - low) * 0.06];
    const never = all.some(point => !isFinite(point.y)), top = legend.height + 26 + (never ? 18 : 0), bottom = Math.max(380, Math.min(width * 0.45, 480));
    const y = axis(low, high, bottom, top, {log, room: 46}), left = ticks_wide(y) + 14, x = axis_of_x(of, it, left, width - right);
    const clamp = value => Math.min(Math.max(y.place(Math.max(value, y.low)), top - 4), bottom);
    const picture = canvas(width, bottom + 42, legend.group, letters(2, legend.height + 12, words_y(it), 'faint'),
                           y_axis(y, left, width - right), x_axis(x, top, bottom, words_x(of, it), width - 2));
    ideals.forEach((points, n) => {
        const inside = [];
        points.slice(1).forEach(([bx, by], i) => {
            const [ax, ay] = points[i];
            for (let k = 0; k <= 40; k++) {
                const part = k / 40, at = log ? ay * (by / ay) ** part : ay + (by - ay) * part;
                if (at <= y.high && at >= y.low) inside.push([x.place(x.log ? ax * (bx / ax) ** part : ax + (bx - ax) * part), y.place(at)]);
            }
        });
        if (!inside.length) return;
        const end = inside.at(-1);
        picture.append(s('path', {class: 'expected', fill: 'none', d: path_of(inside)}, note('ideal')));
        if (!n) picture.append(letters(end[0] - 8, Math.max(end[1], top + 8) + 4, 'ideal', 'halo faint', 'end'));
    });
    /* Of several lines the marks of one x stand beside each other where x is words. */
    const shift = (line, point) => x.place(point.x) + (of.numeric ? 0 : (of.lines.indexOf(line) - (of.lines.length - 1) / 2) * Math.min(14, 120 / of.lines.length));
    for (const line of of.lines) {
        const places = line.points.map(point => [shift(line, point), isFinite(point.y) ? clamp(point.y) : NaN]);
        picture.append(s('path', {class: 'line h' + line.look.hue, d: path_of(places), 'stroke-dasharray': DASHES[line.look.dash]}, note(line.label)));
        line.points.forEach((point, i) => {
            const [px, py] = places[i], says = line.label + ', ' + (of.numeric ? named(it.x) + ' ' + point.x : of.xs[point.x]) + ': ' + brief(point.y, 4)
                + (isFinite(point.low) ? ' [' + brief(point.low, 4) + ', ' + brief(point.high, 4) + ']' : '') + ', ' + counted(point.runs, 'run');
            if (isFinite(point.low) && isFinite(point.high) && isFinite(point.y))
                picture.append(rule('whisker h' + line.look.hue, px, clamp(point.low), px, clamp(point.high)));
            if (isNaN(py)) picture.append(mark(line.look, px, top - 14, {hollow: true, note: says}));
            else picture.append(mark(line.look, px, py, {note: says}));
        });
    }
    if (never) picture.append(letters(left - 7, top - 10, 'never', 'faint', 'end'));
    if (beside) {
        const last = of.lines.map(line => { const point = line.points.at(-1); return [shift(line, point), isFinite(point.y) ? clamp(point.y) : top - 14]; });
        spaced(last.map(end => end[1]), 16, top - 14, bottom).forEach((at, i) => {
            const line = of.lines[i], x0 = width - right + 10;
            if (Math.abs(at - last[i][1]) > 2 || x0 - last[i][0] > 14) picture.append(trail('leader', [[last[i][0] + 5, last[i][1]], [x0 - 1, at]]));
            picture.append(mark(line.look, x0 + 5, at), letters(x0 + 15, at + 4, clipped(line.label, right - 26)));
        });
    }
    return picture;
}

/* Darker is more; the least of a row has a frame. */
function map(width, it) {
    const of = points_of(it), names = most_of(of.lines, line => wide(line.label, 12, true)) + 14, tall = 44, top = 24;
    const step = (width - names - 4) / of.xs.length, all = of.lines.flatMap(line => line.points.map(point => point.y)).filter(isFinite);
    const scale = it.log.includes('y') ? Math.log : Number, low = scale(least_of(all)), high = scale(most_of(all)), bottom = top + of.lines.length * tall;
    const picture = canvas(width, bottom + 44, letters(2, 12, words_y(it), 'faint'));
    of.lines.forEach((line, row) => {
        const best = least_of(line.points, point => point.y), y = top + row * tall;
        picture.append(letters(names - 8, y + tall / 2 + 4, line.label, 'label', 'end'));
        const cells = line.points.map(point => {
            const x = names + of.xs.indexOf(of.numeric ? point.x : of.xs[point.x]) * step, known = isFinite(point.y), chosen = known && point.y === best;
            const says = line.label + ', ' + named(it.x) + ' ' + point.x + ': ' + (known ? brief(point.y, 4) : 'diverged') + ', ' + counted(point.runs, 'run');
            return [chosen, s('g', {}, s('rect', {class: known ? 'bar h0' : 'lane', x: x + 1, y: y + 1, width: step - 2, height: tall - 2,
                                                  'fill-opacity': known ? (0.04 + 0.4 * (scale(point.y) - low) / (high - low || 1)).toFixed(3) : 1}, note(says)),
                              chosen ? s('rect', {class: 'border', fill: 'none', x: x + 2, y: y + 2, width: step - 4, height: tall - 4}) : null,
                              letters(x + step / 2, y + tall / 2 + 4, known ? brief(point.y, step < 40 ? 2 : 3) : '∞', chosen ? 'strong' : known ? '' : 'faint', 'middle'))];
        });
        cells.forEach(([, cell]) => picture.append(cell));
    });
    of.xs.forEach((x, i) => picture.append(letters(names + (i + 0.5) * step, bottom + 16, of.numeric ? plain(x) : x, 'faint', 'middle')));
    picture.append(letters(names + (width - names) / 2, bottom + 36, words_x(of, it), 'faint', 'middle'));
    return picture;
}

async function begin() {
    const it = await source.file('figure.json'), runs = it.lines.flatMap(line => line.points.map(point => point.runs)), [few, many] = [least_of(runs), most_of(runs)];
    const title = it.title || (named(it.y)[0].toUpperCase() + named(it.y).slice(1) + ' by ' + (named(it.x) || it.x));
    const element = figure('figure', {title, source: (it.virtual ? 'Virtual time: ' + it.virtual + '. ' : '') + it.csv + ' has the numbers of every run.',
        sub: (it.map ? 'Medians' : it.ratio ? 'Dots: mean ratios, seed by seed,' : 'Dots: medians') + ' over ' + (few === many ? counted(many, 'run') : few + ' to ' + many + ' runs')
            + (it.map ? '; strong colour is more, the least of a row has a frame' : many >= 3 ? '; bars: the 95 % interval of the mean' : '') + '.',
        draw: width => it.map ? map(width, it) : chart(width, it)});
    element.classList.add('chosen');
    document.title = 'Syncopate: ' + title;
    document.getElementById('page').replaceChildren(h('header', {}, h('p', {class: 'kicker'}, 'Syncopate, a figure')), h('section', {}, element,
        it.notes.map(text => h('p', {}, h('b', {}, text.split(': ')[0] + ': '), text.split(': ').slice(1).join(': ')))));
    const alone = () => document.body.classList.toggle('alone', location.hash.startsWith('#figure'));
    addEventListener('hashchange', alone);
    alone();
    draw_all();
}

new ResizeObserver(() => draw_all()).observe(document.body);
addEventListener('beforeprint', () => draw_all(true));
begin();
