/** Damage of a file of settings: an empty or unreadable one, and the last good text in its place. */
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import { recoverFile } from '@device-core/plugin-api/durable';
import { ConfigDocument } from './document.ts';
import type { Problems } from './problems.ts';

/** An empty file is left by a crash, so it does not unset everything. */
export function parseState(path: string, found: string | undefined): ConfigDocument {
  if (found !== '') return ConfigDocument.parse(found ?? '', path);
  const reason = 'line 1: the file is empty; delete it to unset everything';
  throw new CoreError('STATE_CORRUPT', { file: path, reason });
}

/** Puts the last good text in the place of a damaged file, as far as the disk allows. Resolves with what is in force. */
export async function restoreState(
  path: string,
  damage: unknown,
  lastGood: string | undefined,
  { problems, log }: { readonly problems: Problems; readonly log: Logger },
): Promise<string> {
  const text = lastGood || undefined; // an empty one is none
  let aside = '';
  try {
    aside = `it was set aside as ${await recoverFile(path, text)}, `;
  } catch (error) {
    aside = `it cannot be set aside (${reasonOf(error)}), `;
  }
  const outcome =
    text === undefined ? 'there was no last good one: its settings are lost' : 'the last good one is used';
  const message = `${reasonOf(damage)}; ${aside}${outcome}`;
  // Not under the path itself: later writes mend the file, and the loss is to be told until the Core starts anew.
  if (text === undefined) problems.fault(`loss of ${path}`, 'STATE_CORRUPT', message);
  else problems.note(message);
  log.error({ file: path }, message);
  return text ?? '';
}
