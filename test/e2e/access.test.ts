/** Who may use an operation: what the documents say is what is enforced, for each operation of the simulator. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { REQUESTS } from '../../docs/reference/generator/examples/requests.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type Answer, SpawnedCore } from '../fixtures/spawned-core.ts';

/** The examples speak of this app; here it holds nothing. */
const MANIFEST = {
  manifestVersion: 1,
  id: 'com.example.agenda',
  name: 'agenda',
  version: '1.0.0',
  title: 'Holds nothing',
  exec: { command: 'node', args: ['main.cjs'] },
  capabilities: [],
  health: { kind: 'none' },
};

interface Documented {
  readonly operationId: string;
  readonly method: string;
  readonly 'x-capability'?: string;
  readonly 'x-access'?: string;
  readonly security?: readonly object[];
}

const folder = mkdtempSync(join(tmpdir(), 'access-'));
let core: SpawnedCore;
let token: string;
let documented: readonly Documented[];

before(async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'app.yaml'), JSON.stringify(MANIFEST));
  writeFileSync(join(folder, 'main.cjs'), 'setInterval(() => {}, 1000);');
  core = await SpawnedCore.start('--sku', 'manifests/skus/simulator.yaml', '--app', folder);
  token = await eventually(async () => {
    const { body } = await core.ask('/apps/agenda', { unix: true });
    return body.app?.state === 'running' ? core.token('agenda') : undefined;
  }, 'the app');
  const { paths } = (await core.ask('/openapi.json', { unix: true })).body;
  documented = Object.values(paths as Record<string, Record<string, Documented>>).flatMap((methods) =>
    Object.entries(methods).map(([method, one]) => ({ ...one, method: method.toUpperCase() })),
  );
});
after(async () => {
  await core?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const ask = ({ operationId, method }: Documented, as: string | undefined): Promise<Answer> => {
  const asked = REQUESTS[operationId];
  assert.ok(asked, `${operationId} has an example`);
  const body = typeof asked.body === 'function' ? {} : asked.body;
  return core.ask(asked.path, { method, token: as, ...(method === 'GET' ? {} : { body: body ?? {} }) });
};
/** They do not end by themselves, and are refused or not like the rest of their area. */
const STREAMS = new Set(['events.stream', 'logs.stream']);

describe('an app that holds nothing', () => {
  it('is refused what needs a capability, and the refusal names it', async () => {
    const needing = documented.filter((one) => one['x-capability'] && !STREAMS.has(one.operationId));
    assert.ok(needing.length > 40, `${needing.length}`);
    for (const one of needing) {
      const family = one['x-capability']!.replace(/[.:]\{.*$/, '');
      const { status, body, text } = await ask(one, token);
      assert.equal(status, 403, `${one.operationId}: ${text}`);
      assert.match(body.error, /^CAPABILITY_DENIED: /, one.operationId);
      assert.ok(String(body.error).includes(`does not hold ${family}`), `${one.operationId}: ${body.error}`);
    }
  });

  it('is not refused what every identified caller may use', async () => {
    const open = documented.filter((one) => !one['x-capability'] && !one['x-access'] && !STREAMS.has(one.operationId));
    assert.ok(open.length > 15, `${open.length}`);
    for (const one of open) {
      const { status, text } = await ask(one, token);
      assert.ok(status !== 401 && status !== 403, `${one.operationId}: ${text}`);
    }
  });

  it('finds a word of its own where an operation has rules of its own', () => {
    const own = documented.filter((one) => one['x-access']);
    assert.ok(own.length >= 7);
    for (const one of own) {
      assert.equal(one['x-capability'], undefined, `${one.operationId} says it twice`);
      assert.match(one['x-access']!, /^[A-Z].*\.$/);
    }
  });
});

describe('a caller without identity', () => {
  it('is asked for one wherever the documents do not let everybody in', async () => {
    for (const one of documented.filter(({ operationId }) => !STREAMS.has(operationId))) {
      const everybody = one.security?.some((way) => Object.keys(way).length === 0) ?? false;
      const { status, text } = await ask(one, undefined);
      // To sign in takes a code, or the key of a browser, which is what these ask for.
      if (/^sessions\.(open|challenge|resume)$/.test(one.operationId)) assert.equal(status, 400);
      else if (everybody) assert.ok(status < 400 || status === 503, `${one.operationId}: ${text}`);
      else assert.equal(status, 401, `${one.operationId}: ${text}`);
    }
  });
});
