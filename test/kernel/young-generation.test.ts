/** What the Core's process keeps for new objects: the kernel's start says it to V8 (ADR 0062). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const START = pathToFileURL(join(import.meta.dirname, '../../kernel/start.js')).href;
const MIB = 1 << 20;

/** Objects of which many outlive two collections: V8 doubles what it keeps for such, up to its bound. */
const CHURN = `
process.argv.push('kernel', '--version');
await import(${JSON.stringify(START)});
const { getHeapSpaceStatistics } = await import('node:v8');
const kept = [];
for (let index = 0; index < 600_000; index++) kept[index % 20_000] = { index, list: [index, index], text: 'x' + index };
const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
console.log(JSON.stringify(space_size));
`;

async function youngAfterChurn(...node: readonly string[]): Promise<number> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const args = [...node, '--input-type=module', '--eval', CHURN];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
  return Number(stdout.trim().split('\n').at(-1)) / MIB;
}

describe('the young generation of the Core', () => {
  it('stays as small as it is when the Core begins, whatever survives', async () => {
    const size = await youngAfterChurn();
    // Node's own start may have doubled it once or twice.
    assert.ok(size > 0 && size <= 8, `${size} MiB`);
  });

  it('is as large as an option of Node says', async () => {
    const size = await youngAfterChurn('--max-semi-space-size=16');
    assert.ok(size > 8 && size <= 32, `${size} MiB`);
  });
});
