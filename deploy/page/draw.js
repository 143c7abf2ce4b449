/* draw.js - what figures are made of: elements, numbers with as many digits as they bear, axes, frames
 * with labels that do not overlap, read-outs, and a figure that can be saved. A figure is drawn for the
 * width that it has, so that its text is of one size on every screen. */

/* --- elements ------------------------------------------------------------------------------------ */

function make(space, tag, attributes, children) {
    const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, '');
        else if (value || value === 0) element.setAttribute(name, value);
    element.append(...children.flat(Infinity).filter(child => child || child === 0));
    return element;
}
const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const SVG = 'http://www.w3.org/2000/svg';
const s = (tag, attributes, ...children) => make(SVG, tag, attributes, children);
const note = text => s('title', {}, text);
const letters = (x, y, text, name, anchor) => s('text', {class: name, x, y, 'text-anchor': anchor}, text);
const rule = (name, x1, y1, x2, y2, ...children) => s('line', {class: name, x1, y1, x2, y2}, children);
const rect = (name, x, y, width, height, ...children) => s('rect', {class: name, x, y, width, height}, children);
const most_of = (list, of = Number) => list.reduce((most, one) => Math.max(most, of(one)), -Infinity);
const least_of = (list, of = Number) => -most_of(list, one => -of(one));
const unique = list => [...new Set(list)];
const sum = list => list.reduce((a, b) => a + b, 0);
const mean = list => list.length ? sum(list) / list.length : NaN;
function median(list) {
    const sorted = [...list].sort((a, b) => a - b), n = sorted.length;
    return n ? (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 : NaN;
}

const ruler = document.createElement('canvas').getContext('2d');
function wide(text, size = 12, bold = false) {
    ruler.font = (bold ? '600 ' : '') + size + 'px ' + getComputedStyle(document.body).fontFamily;
    return ruler.measureText(text).width;
}
/* Lines that are no wider. */
function wrapped(text, width, size = 12) {
    const lines = [''];
    for (const word of String(text).split(' ')) {
        const longer = (lines.at(-1) + ' ' + word).trim();
        if (lines.at(-1) && wide(longer, size) > width) lines.push(word);
        else lines.splice(-1, 1, longer);
    }
    return lines;
}
function clipped(text, width, size = 12) {
    if (wide(text, size) <= width) return text;
    while (text && wide(text + '…', size) > width) text = text.slice(0, -1);
    return text.trimEnd() + '…';
}

/* --- numbers ------------------------------------------------------------------------------------- */

const MINUS = '−', TIMES = '×', PLUS_MINUS = '±';

function fixed(value, decimals) {
    if (!isFinite(value)) return isNaN(value) ? '–' : 'never';
    const text = Math.abs(value).toFixed(decimals), [whole, part] = text.split('.');
    return (value < 0 && +text !== 0 ? MINUS : '') + whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? '.' + part : '');
}
/* Decimals that leave so many digits. */
const decimals_of = (value, digits) => !isFinite(value) || Number.isInteger(value) ? 0
    : Math.min(Math.max(digits - 1 - Math.floor(Math.log10(Math.abs(value))), 0), 6);
/* A deviation of two digits where it begins with 1, else of one, decides; without it three digits. */
const decimals_for = (value, deviation) => deviation > 0
    ? decimals_of(deviation, String(deviation.toExponential())[0] === '1' ? 2 : 1) : decimals_of(value, 3);
const brief = (value, digits = 3) => fixed(value, decimals_of(value, digits));
function with_deviation(value, deviation, unit = 1, decimals = null) {
    const d = decimals ?? decimals_for(value / unit, deviation / unit);
    const text = fixed(value / unit, d);
    return deviation > 0 && isFinite(value) && +(deviation / unit).toFixed(d) > 0
        ? text + ' ' + PLUS_MINUS + ' ' + fixed(deviation / unit, d) : text;
}
function ratio(of) {
    const {value, low, high} = of;
    const d = high - low < 0.02 * value ? Math.min(decimals_of(high - low, 1), 3) : value < 9.95 ? 2 : 1;
    if (isNaN(value)) return '–';
    if (!isFinite(value)) return 'never';
    const level = of.level && of.level < 0.949 ? ' ' + Math.round(100 * of.level) + ' %' : '';
    return fixed(value, d) + TIMES + (isNaN(low) ? '' : ' [' + fixed(low, d) + ', ' + fixed(high, d) + ']' + level);
}
const UNITS = {bytes: [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']],
               count: [[1e9, 'billion '], [1e6, 'million '], [1e3, 'thousand ']]};
function unit_for(kind, most) {
    return (UNITS[kind] || []).find(([size]) => most >= 2 * size) || [1, kind === 'bytes' ? 'bytes' : ''];
}
/* A size and its name for times up to `most` seconds. */
const time_unit = most => most < 0.2 ? [0.001, 'milliseconds'] : most < 900 ? [1, 'seconds'] : most < 18000 ? [60, 'minutes'] : [3600, 'hours'];
function seconds(value, digits = 3) {
    if (!isFinite(value)) return fixed(value, 0);
    if (value !== 0 && Math.abs(value) < 0.0995) return brief(value * 1000, digits) + '\u00a0ms';
    if (value < 600) return brief(value, digits) + '\u00a0s';
    const minutes = Math.round(value / 60);
    return value < 36000 ? minutes + '\u00a0min' : Math.floor(minutes / 60) + ' h ' + minutes % 60 + ' min';
}
const percent = (part, digits = 2) => isFinite(part) ? fixed(100 * part, decimals_of(100 * part, digits)) + '\u00a0%' : '–';
const counted = (count, one, more = one + 's') => fixed(count, 0) + ' ' + (count === 1 ? one : more);
function listed(names) {
    return names.length < 2 ? names.join('') : names.slice(0, -1).join(', ') + ' and ' + names.at(-1);
}

/* --- axes ---------------------------------------------------------------------------------------- */

/* Numbers of which five or so are in a range, and how they are written. */
function axis(low, high, from, to, options = {}) {
    const length = Math.abs(to - from), most = Math.max(2, Math.floor(length / (options.room || 70)));
    if (options.log) {
        low = Math.max(low, high * 1e-9);
        if (!(high > low * 1.2)) [low, high] = [low / 1.2, high * 1.2];
        const place = value => from + (to - from) * Math.log(value / low) / Math.log(high / low);
        let ticks = [];
        for (const steps of [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
            ticks = [];
            for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
                for (const step of steps) ticks.push(step * 10 ** power);
            ticks = ticks.filter(tick => tick >= low * 0.999 && tick <= high * 1.001);
            const near = ticks.some((tick, i) => i && Math.abs(place(tick) - place(ticks[i - 1])) < (options.room || 70) * 0.5);
            if (ticks.length <= most + 2 && !near) break;
        }
        if (ticks.length < 2) return {...axis(low, high, from, to, {room: options.room}), place, log: true};
        return {place, low, high, ticks, write: tick => brief(+tick.toPrecision(2), 2), log: true};
    }
    if (!(high > low)) high = low + (Math.abs(low) || 1);
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 2.5, 5, 10].map(part => part * power).find(part => part >= rough * 0.999);
    if (options.whole) step = Math.max(1, step === 2.5 ? 5 : Math.round(step));
    if (options.nice) high = Math.ceil(high / step - 1e-9) * step;
    if (options.nice) low = Math.floor(low / step + 1e-9) * step;
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
    const d = Math.max(0, (step / 10 ** Math.floor(Math.log10(step) + 1e-9) === 2.5 ? 1 : 0) - Math.floor(Math.log10(step) + 1e-9));
    return {place: value => from + (to - from) * (value - low) / (high - low), low, high, ticks, write: tick => fixed(tick, d)};
}

function x_axis(x, top, bottom, label, right) {
    const group = s('g', {class: 'axis'});
    let last = -Infinity;
    for (const tick of x.ticks) {
        const at = x.place(tick), text = x.write(tick), half = wide(text) / 2;
        group.append(rule('grid', at, top, at, bottom));
        const middle = Math.max(Math.min(at, right - half), half);
        if (middle - half < last + 8) continue;
        group.append(letters(middle, bottom + 16, text, '', 'middle'));
        last = middle + half;
    }
    if (label) group.append(letters((x.place(x.low) + x.place(x.high)) / 2, bottom + 34, label, '', 'middle'));
    return group;
}
function y_axis(y, left, right) {
    return s('g', {class: 'axis'}, y.ticks.map(tick => [
        rule(tick === y.low ? 'base' : 'grid', left, y.place(tick), right, y.place(tick)),
        letters(left - 7, y.place(tick) + 4, y.write(tick), '', 'end')]));
}
const ticks_wide = y => most_of(y.ticks, tick => wide(y.write(tick)));

/* Places as near as they can be to those wanted, so far apart; in order. */
function spaced(wanted, gap, low, high) {
    const order = wanted.map((at, i) => i).sort((a, b) => wanted[a] - wanted[b]);
    const groups = [];
    for (const i of order) {
        let group = {items: [i], at: wanted[i]};
        while (groups.length) {
            const before = groups.at(-1);
            if (before.at + (before.items.length - 1) * gap + gap <= group.at + 1e-9) break;
            groups.pop();
            const items = [...before.items, ...group.items];
            const middle = mean(items.map((item, k) => wanted[item] - k * gap));
            group = {items, at: middle};
        }
        group.at = Math.min(Math.max(group.at, low), Math.max(low, high - (group.items.length - 1) * gap));
        groups.push(group);
    }
    const places = [];
    let least = low;
    for (const group of groups)
        group.items.forEach((item, k) => { places[item] = Math.max(group.at + k * gap, least); least = places[item] + gap; });
    return places;
}

/* --- how things look ----------------------------------------------------------------------------- */

const DASHES = [null, '7 4', '2 3', '9 3 2 3'];
const MARKS = ['M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0', 'M-4-4h8v8h-8z', 'M0-5l5 9h-10z', 'M0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z',
               'M-4.5-3h9l-4.5 8z', 'M-5-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z'];
const HUES = 7;
const mark = (look, x, y, options = {}) => s('path', {class: 'mark h' + look.hue + (options.hollow ? ' hollow' : ''), d: MARKS[look.mark % MARKS.length],
                                                      transform: 'translate(' + x.toFixed(1) + ' ' + y.toFixed(1) + ')' + (options.small ? ' scale(.6)' : '')},
                                             options.note && note(options.note));
/* Interrupted where a point has no height. */
const path_of = points => points.map(([x, y], i) => isNaN(y) ? '' : (i && !isNaN(points[i - 1][1]) ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1)).join('');

const trail = (name, points, ...children) => s('path', {class: name, d: path_of(points)}, children);

/* A key: marks and words in rows; returns the group and its height. */
function key(entries, left, right, top) {
    const group = s('g', {});
    let x = left, y = top + 10;
    for (const {draw, label} of entries) {
        const text = clipped(label, right - left - 26), room = 26 + wide(text) + 14;
        if (x > left && x + room - 14 > right) { x = left; y += 19; }
        group.append(draw(x, y - 4), letters(x + 24, y, text));
        x += room;
    }
    return {group, height: entries.length ? y - top + 10 : 0};
}
const swatch = name => (x, y) => rect(name, x, y - 6, 18, 12);
const line_key = look => (x, y) => s('g', {}, s('line', {class: 'line h' + look.hue, x1: x, x2: x + 18, y1: y, y2: y, 'stroke-dasharray': DASHES[look.dash]}),
                                     mark(look, x + 9, y));

/* --- figures ------------------------------------------------------------------------------------- */

const figures = new Map();

/* title: what is found; draw(width): an <svg>, or nothing. Title and sub may be functions. controls: elements above it. */
function figure(name, {title, sub, source: source_line, controls, draw}) {
    const frame = h('div', {class: 'frame'}), heading = h('h3', {}), below = h('p', {class: 'sub'});
    const tools = h('span', {class: 'tools'}, ['SVG', 'PNG'].map(kind =>
        h('button', {type: 'button', onclick: () => save(name, kind)}, 'save ' + kind)));
    const element = h('figure', {id: name}, heading, below, controls, frame, h('figcaption', {}, h('span', {}, source_line), tools));
    function tell() {
        for (const [part, words] of [[heading, title], [below, sub]]) {
            const text = (typeof words === 'function' ? words() : words) || '';
            if (part.textContent !== text) part.textContent = text;
        }
    }
    const it = {element, frame, width: 0, redraw(force) {
        const width = Math.floor(frame.clientWidth);
        if (!width || (width === it.width && !force)) return;
        it.width = width;
        tell();
        const drawn = draw(width);
        frame.replaceChildren(drawn || '');
        if (!drawn) return;
        drawn.setAttribute('role', 'img');
        drawn.setAttribute('aria-label', heading.textContent);
    }};
    tell();
    figures.set(name, it);
    return element;
}
const canvas = (width, height, ...children) => s('svg', {width, height, viewBox: '0 0 ' + width + ' ' + height}, ...children);
const draw_all = force => figures.forEach(it => it.redraw(force));

/* As the page shows it, with its title: each element says its own looks. */
const SAID = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'stroke-linejoin', 'opacity', 'font-size',
              'font-weight', 'font-family', 'paint-order'];
function standalone(name) {
    const {element, frame} = figures.get(name), drawn = frame.querySelector('svg');
    const copy = drawn.cloneNode(true), width = +drawn.getAttribute('width'), style = getComputedStyle(document.body);
    const theirs = drawn.querySelectorAll('*');
    copy.querySelectorAll('*').forEach((part, i) => {
        const looks = getComputedStyle(theirs[i]);
        for (const property of SAID) part.setAttribute(property, looks.getPropertyValue(property));
    });
    const lines = [[element.querySelector('h3').textContent, 16, 600], [element.querySelector('.sub').textContent, 12, 400]]
        .flatMap(([text, size, weight]) => text ? wrapped(text, width - 16, size).map(line => ({line, size, weight})) : []);
    let y = 6;
    const words = lines.map(({line, size, weight}) => s('text', {x: 8, y: y += size + 5, 'font-size': size, 'font-weight': weight,
                                                                 'font-family': 'sans-serif', fill: style.color}, line));
    copy.setAttribute('y', y += 8);
    const all = y + Number(drawn.getAttribute('height')) + 8;
    return s('svg', {xmlns: SVG, width, height: all, viewBox: '0 0 ' + width + ' ' + all},
             s('rect', {width, height: all, fill: style.backgroundColor}), ...words, copy);
}
function save(name, kind) {
    const picture = standalone(name), text = new XMLSerializer().serializeToString(picture);
    const give = blob => {
        const link = h('a', {href: URL.createObjectURL(blob), download: name + '.' + kind.toLowerCase()});
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
    if (kind === 'SVG') return give(new Blob([text], {type: 'image/svg+xml'}));
    const image = new Image(), paper = h('canvas', {width: 2 * picture.getAttribute('width'), height: 2 * picture.getAttribute('height')});
    image.onload = () => {
        paper.getContext('2d').drawImage(image, 0, 0, paper.width, paper.height);
        paper.toBlob(give);
    };
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
}

/* A choice of one: radio buttons that look like one control. */
let choices = 0;
function choice(legend, options, chosen, changed) {
    const group = 'choice-' + choices++;
    return h('fieldset', {class: 'choice'}, h('legend', {}, legend), options.map(([value, text]) => h('label', {},
        h('input', {type: 'radio', name: group, value, checked: value === chosen, onchange: () => changed(value)}), h('span', {}, text))));
}

/* Lines from [x, y] points with a read-out at the pointer, or moved by arrow keys.
 * series: [{label, look, points, band: [[x, low, high]] | null, loose: [[x, y]]}]; the axis counts x in units of `size`. */
function line_chart(width, options) {
    const {series, size = 1, x_label, log, height = 340, target, events = [], write_y, write_x, quiet, x_high, y_range, grey = [], clip = Infinity} = options;
    const all = [...series, ...grey].flatMap(one => [...one.points, ...one.loose || []]);
    const bands = series.flatMap(one => one.band || []).flatMap(([, least, greatest]) => [least, greatest]);
    if (!all.length) return canvas(width, 40, letters(4, 24, 'no data yet', 'faint'));
    const beside = width >= 640 && !quiet;
    const legend = beside || quiet ? {group: null, height: 0}
        : key(series.map(one => ({label: one.label, draw: line_key(one.look)})), 2, width - 2, 0);
    let right = 14;
    if (beside) right = Math.min(most_of(series, one => wide(one.label)), width * 0.34) + 30;
    const ys = [...all.map(point => point[1]), ...bands].filter(value => isFinite(value) && (!log || value > 0));
    const inside = [...ys.filter(value => value <= clip), target].filter(isFinite);
    let [low, high] = y_range || [least_of(inside), most_of(inside)];
    if (!log && !y_range) [low, high] = [low - (high - low) * 0.04, high + (high - low) * 0.04];
    const top = legend.height + 10 + (events.length ? 14 : 0), bottom = height - (quiet ? 22 : 42);
    const y = axis(low, high, bottom, top, {log, room: quiet ? 36 : 46});
    const left = ticks_wide(y) + 14;
    const x = axis(0, (x_high || most_of(all, point => point[0])) / size, left, width - right, {room: quiet ? 60 : 74});
    const place = ([px, py]) => [x.place(px / size), Math.min(Math.max(y.place(log ? Math.max(py, y.low) : py), top - 4), bottom)];
    const picture = canvas(width, height, legend.group, y_axis(y, left, width - right),
                           x_axis(x, top, bottom, quiet ? null : x_label, width - 2));
    if (isFinite(target)) {
        const at = y.place(target);
        picture.append(rule('target', left, at, width - right, at));
        if (!quiet) picture.append(letters(left + 6, at + 14 < bottom ? at + 14 : at - 5, 'target ' + write_y(target), 'halo faint'));
    }
    let events_end = -Infinity;
    for (const event of events) {
        const at = x.place(event.x / size), length = wide(event.label), x1 = Math.max(Math.min(at - 3, width - 2 - length), events_end);
        picture.append(rule('fault-line', at, top - 4, at, bottom, note(event.text)));
        if (!event.label || x1 + length > width) continue;
        picture.append(letters(x1, top - 8, event.label, 'fault'));
        events_end = x1 + length + 8;
    }
    for (const one of grey) picture.append(trail('line ghost', one.points.map(place)));
    for (const one of series) {
        const dots = one.points.length < 3;
        if (one.band && one.band.length > 2 && !dots)
            picture.append(s('path', {class: 'band h' + one.look.hue, d: path_of([...one.band.map(p => place([p[0], p[2]])),
                                                                                  ...[...one.band].reverse().map(p => place([p[0], p[1]]))]) + 'Z'}));
        for (const point of one.loose || []) picture.append(mark(one.look, ...place(point), {small: true, hollow: true}));
        if (dots) one.points.forEach(point => picture.append(mark(one.look, ...place(point))));
        else picture.append(s('path', {class: 'line h' + one.look.hue, d: path_of(one.points.map(place)), 'stroke-dasharray': DASHES[one.look.dash]}, note(one.label)));
    }
    const shown = series.filter(one => one.points.length);
    const ends = shown.map(one => place(one.points.at(-1)));
    if (beside) {
        const places = spaced(ends.map(end => end[1]), 15, top + 2, bottom);
        shown.forEach((one, i) => {
            const at = width - right + 8;
            if (Math.abs(places[i] - ends[i][1]) > 2 || at - ends[i][0] > 12)
                picture.append(trail('leader', [[ends[i][0] + 5, ends[i][1]], [at - 1, places[i]]]));
            picture.append(mark(one.look, ...ends[i]), mark(one.look, at + 5, places[i]),
                           letters(at + 14, places[i] + 4, clipped(one.label, right - 24)));
        });
    } else shown.forEach((one, i) => picture.append(mark(one.look, ...ends[i])));
    if (!quiet) read_out(picture, {x, size, left, right: width - right, top, bottom, place, shown, write_x, write_y});
    return picture;
}

/* The value of a line at a place between its points. */
function value_at(points, at) {
    if (!points.length || at < points[0][0] || at > points.at(-1)[0]) return NaN;
    let i = points.findIndex(point => point[0] >= at);
    if (i <= 0) return points[Math.max(i, 0)][1];
    const [a, b] = [points[i - 1], points[i]];
    return b[0] > a[0] ? a[1] + (b[1] - a[1]) * (at - a[0]) / (b[0] - a[0]) : b[1];
}

function read_out(picture, {x, size, left, right, top, bottom, place, shown, write_x, write_y}) {
    const group = s('g', {class: 'read-out', visibility: 'hidden'});
    picture.append(group, rect('catch', left, top, Math.max(right - left, 1), bottom - top));
    picture.setAttribute('tabindex', '0');
    let part = 1;
    function show() {
        const at = size * (x.low + part * (x.high - x.low)), px = x.place(at / size);
        const rows = shown.map(one => ({one, value: value_at(one.points, at)})).filter(row => isFinite(row.value))
            .sort((a, b) => b.value - a.value);
        const lines = [write_x(at), ...rows.map(row => write_y(row.value) + '  ' + row.one.label)];
        const box = most_of(lines, line => wide(line)) + 34, tall = lines.length * 16 + 8;
        const bx = px + box + 12 < right + 60 && px + box + 12 < +picture.getAttribute('width') ? px + 10 : Math.max(px - box - 10, 2);
        group.replaceChildren(rule('cursor', px, top, px, bottom),
            ...rows.map(row => mark(row.one.look, px, place([at, row.value])[1], {small: true})),
            s('rect', {class: 'box', x: bx, y: top + 4, width: box, height: tall, rx: 4}),
            ...lines.map((line, i) => letters(bx + (i ? 24 : 8), top + 20 + 16 * i, line, i ? '' : 'strong')),
            ...rows.map((row, i) => mark(row.one.look, bx + 13, top + 32 + 16 * i)));
        group.setAttribute('visibility', 'visible');
    }
    const hide = () => group.setAttribute('visibility', 'hidden');
    picture.addEventListener('pointermove', event => {
        const px = event.clientX - picture.getBoundingClientRect().left;
        if (px < left - 8 || px > right + 8) return hide();
        part = Math.min(Math.max((px - left) / (right - left), 0), 1);
        show();
    });
    picture.addEventListener('pointerleave', hide);
    picture.addEventListener('blur', hide);
    picture.addEventListener('keydown', event => {
        const step = {ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1}[event.key];
        if (!step) return;
        event.preventDefault();
        part = Math.min(Math.max(part + step, 0), 1);
        show();
    });
}
