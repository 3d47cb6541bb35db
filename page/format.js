import { h } from "./dom.js";

const integers = new Intl.NumberFormat("en");
const decimals = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const binaryUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/**
 * What is not shown as it is: controls, marks of direction, separators of lines, halves of pairs,
 * what has no ink (fillers, joiners, selectors of variants, tags, the empty Braille pattern), and
 * of marks on one letter those after the fourth, which would reach into other lines.
 */
const unshown = new RegExp(
    "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u2800]" +
        "|(?<=\\p{M}{4})\\p{M}",
    "gu",
);

/** Spaces that would not be seen, or not be told from one: other ones, at an end, or in a row. */
const unshownSpaces = /[^\P{Zs} ]|^ | $|(?<= ) /gu;

/** What a table shows of a text; the whole of it is on the task's own view. */
const shortLength = 200;
/** What is shown of a text at all: a client string may have 64 KiB. */
const longLength = 4000;

export function number(value) {
    return integers.format(value);
}

export function bytes(value) {
    let unit = 0;
    let scaled = value;
    while (scaled >= 1000 && unit + 1 < binaryUnits.length) {
        scaled /= 1024;
        unit += 1;
    }
    return `${decimals.format(scaled)} ${binaryUnits[unit]}`;
}

export function rate(bytesPerSecond) {
    return `${bytes(Math.round(bytesPerSecond))}/s`;
}

/** A length of time in seconds, with two units at most. */
export function duration(seconds) {
    if (seconds < 0.0005) return `${Math.round(seconds * 1_000_000)} µs`;
    if (seconds < 1) return `${decimals.format(seconds * 1000)} ms`;
    if (seconds < 60) return `${decimals.format(seconds)} s`;
    const whole = Math.round(seconds);
    const parts = [
        [Math.floor(whole / 86_400), "d"],
        [Math.floor(whole / 3600) % 24, "h"],
        [Math.floor(whole / 60) % 60, "min"],
        [whole % 60, "s"],
    ];
    const first = parts.findIndex(([count]) => count > 0);
    return parts
        .slice(first, first + 2)
        .filter(([count]) => count > 0)
        .map(([count, unit]) => `${count} ${unit}`)
        .join(" ");
}

export function date(text) {
    return dates.format(new Date(text));
}

function codePoint(character) {
    return `\\u{${character.codePointAt(0).toString(16)}}`;
}

/**
 * Text of strangers as it is shown: characters that would not be seen, that would reorder what
 * stands around them, or that would be drawn over it are written as their code points.
 */
export function visible(text, length = longLength) {
    return visibleLine(text, length).replace(unshownSpaces, codePoint);
}

/** The same with all of its spaces, for text that is shown as it was laid out. */
function visibleLine(text, length) {
    // One more than so many characters can have, so that it shows whether there are others.
    const points = [...text.slice(0, length * 2 + 1)];
    const shown = points.slice(0, length).join("").replace(unshown, codePoint);
    return points.length > length ? `${shown}…` : shown;
}

/** What a body in Base64 says, as far as it is text. */
export function decoded(base64) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.codePointAt(0));
    return new TextDecoder().decode(bytes);
}

/** An element with text of strangers, kept apart from the direction of its surroundings. */
export function foreign(text, attributes) {
    return h("bdi", { class: "foreign", ...attributes }, visible(text));
}

/** The same for a line of text that is shown as it was laid out. */
export function foreignLine(text) {
    return h("bdi", { class: "foreign" }, visibleLine(text, longLength));
}

/** The same in a table, where only so much of it is shown. */
export function foreignShort(text, attributes) {
    const short = visible(text, shortLength);
    return h("bdi", { class: "foreign", title: visible(text, 1000), ...attributes }, short);
}

/** The words for a state or another value of an enumeration. */
export function words(value) {
    return value.replaceAll("_", " ").replaceAll(".", " ");
}
