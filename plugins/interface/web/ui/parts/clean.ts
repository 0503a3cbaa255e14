import { escapeUnseen } from '@device-core/plugin-api/kits/characters';

/** Colours and other commands for a terminal; a window title ends with BEL or ESC \. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COMMANDS = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
/**
 * Text that somebody else wrote, as it may be shown: without commands for terminals, characters that are not seen by
 * their numbers, tabs and line breaks as they are.
 */
export function clean(text: string): string {
  return text.replace(COMMANDS, '').replace(/[^\t\n]+/g, escapeUnseen);
}
