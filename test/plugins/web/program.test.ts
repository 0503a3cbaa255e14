/** devicectl web: an address with a code, and the same on the panel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProgramClient, ProgramContext } from '@device-core/plugin-api/program';
import { program } from '../../../plugins/interface/web/program/web.ts';

const HERE = 'http://127.0.0.1:55280/ui/';
const THERE = 'https://192.0.2.7:55281/ui/';

async function run(args: object, pages: readonly string[], json = false) {
  const printed: string[] = [];
  const put: (readonly [path: string, body: object])[] = [];
  const client = {
    post: async () => ({ status: 201, text: '{"code":"ABCD-EFGH"}', body: { code: 'ABCD-EFGH', pages } }),
    put: async (path: string, body: object) => {
      put.push([path, body]);
      return { status: 200, text: '', body: {} };
    },
  } as unknown as ProgramClient;
  const out = { json, line: async (text: string) => void printed.push(text) };
  await program.run({ client, out, args: { role: 'operator', ...args } } as unknown as ProgramContext<{
    readonly role: 'viewer' | 'operator';
  }>);
  return { printed, put };
}

for (const [what, args, pages, json, printed, url] of [
  ['prints the address', {}, [HERE], false, [`${HERE}#code=ABCD-EFGH`], undefined],
  ['shows it on the panel', { panel: true }, [HERE], false, [`${HERE}#code=ABCD-EFGH`], `${HERE}#code=ABCD-EFGH`],
  [
    ...['shows the one that others can open', { panel: true }, [HERE, THERE], false],
    ...[[`${HERE}#code=ABCD-EFGH\n${THERE}#code=ABCD-EFGH`], `${THERE}#code=ABCD-EFGH`],
  ],
  [
    ...['says so where there is none', { panel: true }, [], false],
    ...[['code ABCD-EFGH; the Core listens on no TCP address'], undefined],
  ],
  ['answers in JSON', { panel: true }, [HERE], true, ['{"code":"ABCD-EFGH"}'], `${HERE}#code=ABCD-EFGH`],
] as const)
  test(`devicectl web ${what}`, async () => {
    const seen = await run(args as object, pages as readonly string[], json as boolean);
    assert.deepEqual(seen.printed, printed);
    assert.deepEqual(seen.put, url === undefined ? [] : [['/display/pairing', { url, ms: 120_000 }]]);
  });
