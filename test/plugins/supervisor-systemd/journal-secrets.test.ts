import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { journalReader } from '../../../plugins/apps/supervisor-systemd/journal-line.ts';

const UNIT = 'app-a.service';
const CORE = 'device-core.service';

type Entry = readonly [message: string, start?: string | undefined, unit?: string];

function texts(entries: readonly Entry[]): readonly (string | undefined)[] {
  const read = journalReader(UNIT);
  return entries.map(([MESSAGE, start, unit = UNIT]) => {
    const about = { __REALTIME_TIMESTAMP: '1700000000123456', PRIORITY: '6', _SYSTEMD_UNIT: unit };
    return read(JSON.stringify({ ...about, MESSAGE, _SYSTEMD_INVOCATION_ID: start }))?.line.text;
  });
}

describe('secrets with lines in several entries of a journal', () => {
  const H = '[redacted]';
  const OWNER: Entry = ['{"level":"info","msg":"asked to start"}', 'core', CORE];
  const CASES: readonly (readonly [what: string, entries: readonly Entry[], told: readonly string[]])[] = [
    [
      'a key in PEM',
      [
        ['-----BEGIN PRIVATE KEY-----', 'a'],
        ['MIIabc', 'a'],
        ['-----END PRIVATE KEY-----', 'a'],
        ['on', 'a'],
      ],
      [H, H, H, 'on'],
    ],
    [
      'a block of YAML',
      [
        ['password: |', 'a'],
        ['  abc', 'a'],
        ['  def', 'a'],
        ['on', 'a'],
      ],
      ['password: [redacted]', H, H, 'on'],
    ],
    [
      'a quote',
      [
        ['token="abc', 'a'],
        ['def', 'a'],
        ['ghi"', 'a'],
        ['on', 'a'],
      ],
      ['token="[redacted]', H, H, 'on'],
    ],
    [
      'a quote, with a line of the owner between',
      [['token="abc', 'a'], OWNER, ['ghi"', 'a']],
      ['token="[redacted]', 'asked to start', H],
    ],
    [
      'a quote, with an entry that does not know its start',
      [
        ['token="abc', 'a'],
        ['def', undefined],
        ['ghi"', 'a'],
      ],
      ['token="[redacted]', H, H],
    ],
    [
      'a quote, up to the next start',
      [
        ['token="abc', 'a'],
        ['on', 'b'],
      ],
      ['token="[redacted]', 'on'],
    ],
  ];
  for (const [what, entries, told] of CASES) it(`are hidden: ${what}`, () => assert.deepEqual(texts(entries), told));
});
