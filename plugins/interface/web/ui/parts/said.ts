import { html } from 'htm/preact';

/** Colours and other commands for a terminal; a window title ends with BEL or ESC \. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COMMANDS = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
/** What one does not see: controls, and marks that turn the direction of what follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Text that somebody else wrote, as it may be shown: without commands for terminals, and what one does not see by its number. */
export function clean(text: string): string {
  return text
    .replace(COMMANDS, '')
    .replace(UNSEEN, (one) => `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
}

/** Words of an app, quoted as such: the device does not say this. */
export function Said({ words }: { words: string }) {
  return html`<q class="said" dir="auto">${clean(words)}</q>`;
}
