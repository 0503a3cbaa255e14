/** The page is a client of the public interface and nothing more; without plugin web everything else is as it was. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { SkuManifest, SkuPlugin } from '@device-core/plugin-api';
import { type OperationInfo, operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse } from 'yaml';
import { startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

const UI = join(import.meta.dirname, '../../plugins/interface/web/ui');
const sku: SkuManifest = parse(readFileSync(new URL('../../manifests/skus/simulator.yaml', import.meta.url), 'utf8'));
const CONFIG: Readonly<Record<string, object>> = { http: { tcp: false }, composer: { quietMs: 10_000 } };
/** The simulator, but for these. */
function plugins(...without: readonly string[]): Readonly<Record<string, SkuPlugin>> {
  const lines = Object.entries(sku.plugins).filter(([id]) => !without.includes(id));
  return Object.fromEntries(
    lines.map(([id, line]) => {
      const whole = typeof line === 'string' ? { version: line } : line;
      return [id, { ...whole, config: { ...whole.config, ...CONFIG[id] } }];
    }),
  );
}

/** The table of a Core of these plugins, when it is whole. */
async function tableOf(lines: Readonly<Record<string, SkuPlugin>>): Promise<readonly OperationInfo[]> {
  await using core = await startCore({ plugins: lines });
  await eventually(async () => (await core.kernel.status()).state === 'ok', 'all plugins', { ms: 60_000 });
  return core.service(operations).list();
}

/** `METHOD /path/:` and `* /path/:` of what the sources of the page ask for; what stands in braces is one segment. */
function asked(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const file of globSync('**/*.ts', { cwd: UI })) {
    const source = readFileSync(join(UI, file), 'utf8');
    const calls = /\b(api\.(get|post|put|delete)|useAsk|fetchRaw)(?:<[^(]*?>)?\(\s*(['`])(\/[^'`]*)\3/g;
    for (const [, how = '', method, , path = ''] of source.matchAll(calls)) {
      const template = path.replaceAll(/\$\{[^}]*\}/g, ':').split('?')[0];
      found.set(`${how.startsWith('api') ? method?.toUpperCase() : 'GET'} ${template}`, file);
    }
  }
  return found;
}

const keyOf = ({ rest }: OperationInfo): string => `${rest?.method} ${rest?.path.replaceAll(/:[^/]+/g, ':')}`;
/** A segment that is chosen by the page stands for each that is there. */
const matches = (wanted: string, key: string): boolean => {
  const [one, other] = [wanted.split('/'), key.split('/')];
  return (
    one.length === other.length && one.every((part, at) => part === other[at] || part === ':' || other[at] === ':')
  );
};

test('operations of the page are in the table; plugin web brings sessions, and changes nothing else', async () => {
  const table = await tableOf(plugins());
  const there = table.filter(({ rest }) => rest !== undefined);
  const wanted = asked();
  assert.ok(wanted.size > 20, `${wanted.size} requests were found in the sources of the page`);
  const missing = [...wanted].filter(([one]) => !there.some((operation) => matches(one, keyOf(operation))));
  assert.deepEqual(missing, []);

  const own = there.filter(({ plugin }) => plugin === 'web').map(({ name }) => name);
  assert.ok(own.length > 0);
  for (const name of own) assert.match(name, /^sessions\./);

  // Schemas may name what lies where: each Core of this test has a root of its own.
  const shape = ({ name, plugin, capability, access, rest, cli, errors }: OperationInfo) => ({
    name,
    plugin,
    capability,
    access,
    rest,
    cli,
    errors,
  });
  const without = await tableOf(plugins('web'));
  assert.deepEqual(without.map(shape), table.filter(({ plugin }) => plugin !== 'web').map(shape));
});
