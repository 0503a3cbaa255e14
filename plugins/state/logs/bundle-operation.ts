import { CoreError } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api/inside/redact';
import type { Operation, Operations } from '@device-core/plugin-api/services/operations';
import { BUNDLE, type BundleEntry } from './bundle-table.ts';
import { Pace } from './pace.ts';
import type { UnitJournal } from './unit-journal.ts';

/** Takes secrets out of texts by their values; rejects where it cannot. */
export type Hide = (texts: readonly string[]) => Promise<readonly string[]>;
type Members = Readonly<Record<string, unknown>>;
type Invocation = Parameters<Operations['invoke']>[2];

/** Pages of one answer. */
const MOST_PAGES = 100;
/** Items, or lines, that are looked through at once. */
const AT_ONCE = 64;

/**
 * Parts of a support bundle beside the files of the log. The Core fetches them and removes secrets: a caller only names a part, and cannot
 * pass a text to be searched. Each part is fetched in the name of the caller.
 */
export function bundleOperation(
  operations: Pick<Operations, 'invoke'>,
  hide: Hide,
  journal: UnitJournal,
): Operation<{ readonly name: string }, { readonly text: string }> {
  const answer = async ({ operation = '', params = {} }: BundleEntry, call: Invocation): Promise<string> => {
    const pace = new Pace();
    let shown: Record<string, unknown> = {};
    let after: unknown;
    for (let page = 0; page < MOST_PAGES; page++) {
      const asked = after === undefined ? params : { ...params, after };
      const { next, ...members } = (await operations.invoke(operation, asked, call)) as Members;
      shown = joined(shown, await withoutSecrets(members, hide, pace));
      after = next;
      if (after === undefined) break;
    }
    return `${JSON.stringify(shown, null, 2)}\n`;
  };
  return {
    name: 'logs.bundle',
    summary: 'a part of a support bundle: an answer of the Core, or the journal of its units, with secrets hidden',
    description: 'What the caller may not ask for is refused here, too. `logs.file` has the files of the log.',
    capability: 'system.logs',
    params: {
      type: 'object',
      required: ['name'],
      properties: { name: { enum: BUNDLE.map(({ name }) => name) } },
    },
    result: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    rest: { method: 'GET', path: '/logs/bundle' },
    cli: { hide: true },
    errors: ['UNAVAILABLE', 'CAPABILITY_DENIED'],
    run: async ({ name }, { caller, signal, deadline }) => {
      const entry = BUNDLE.find((one) => one.name === name);
      if (!entry) throw new CoreError('PARAMS_INVALID', { where: 'name', reason: 'there is no such part' });
      if (entry.operation) return { text: await answer(entry, { caller, signal, deadline }) };
      const lines = await journal.lines(signal);
      return { text: `${(await hidden(lines, hide, new Pace())).join('\n')}\n` };
    },
  };
}

/** A log shows the first hundred of a list; here each item stands for itself. */
async function withoutSecrets(members: Members, hide: Hide, pace: Pace): Promise<Members> {
  const shown: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(members)) {
    const parts = Array.isArray(value) ? value.map((one) => redact(one)) : [redact({ [key]: value })];
    const texts = await hidden(
      parts.map((part) => JSON.stringify(part) ?? 'null'),
      hide,
      pace,
    );
    if (Array.isArray(value)) shown[key] = texts.map((text) => JSON.parse(text));
    else Object.assign(shown, JSON.parse(texts[0]!));
  }
  return shown;
}

async function hidden(texts: readonly string[], hide: Hide, pace: Pace): Promise<readonly string[]> {
  const all: string[] = [];
  for (let from = 0; from < texts.length; from += AT_ONCE) {
    all.push(...(await hide(texts.slice(from, from + AT_ONCE))));
    if (pace.isDue) await pace.rest();
  }
  return all;
}

/** Joins pages of an answer: their lists are concatenated. */
function joined(before: Members, page: Members): Record<string, unknown> {
  const all: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(page)) {
    const known = all[key];
    all[key] = Array.isArray(known) && Array.isArray(value) ? [...known, ...value] : value;
  }
  return all;
}
