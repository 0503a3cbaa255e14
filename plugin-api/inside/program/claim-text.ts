/** Claims of an app for the terminal: the permission in our words, and the reason in those of the app. */

import { cell, quoted } from '../../kits/program/text.ts';
import type { PromptItem } from '../../services/prompts.ts';

export function claimLines(item: PromptItem): readonly string[] {
  const { capability, params, summary, reason, optional, widens } = item;
  const more = Object.entries(params ?? {}).map(
    ([name, value]) => `${cell(name)} ${[value].flat().map(cell).join(', ')}`,
  );
  return [
    `${[cell(capability), ...more].join(', ')}${optional ? ' (optional)' : ''}`,
    `  what it allows: ${cell(summary)}`,
    ...(widens === undefined ? [] : [`  more than it has: ${cell(widens)}`]),
    ...(reason === '' ? [] : [`  the app says why: ${quoted(reason)}`]),
  ];
}
