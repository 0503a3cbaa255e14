/** Asks a Core of the simulator SKU each request of requests.ts, over its Unix socket, as the operator and apps do. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SkuManifest } from '@device-core/plugin-api';
import { parse, stringify } from 'yaml';
import { eventually } from '../../../../test/fixtures/eventually.ts';
import { Packages } from '../../../../test/fixtures/packages.ts';
import { SimControl } from '../../../../test/fixtures/sim-control.ts';
import { type Answer, SpawnedCore } from '../../../../test/fixtures/spawned-core.ts';
import { differences, type Places, shown } from './normal.ts';
import { type Example, type Examples, readExamples, writeExamples } from './recorded.ts';
import { type Asked, type Place, REQUESTS } from './requests.ts';

const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url)).replace(/\/$/, '');
const TAG = { uid: '04a1b2c3d4e5f6', ndef: 'd101085402656e48656c6c6f' };
const AGENDA = 'com.example.agenda';
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Records anew, and writes what differs from the last time by more than figures. Returns the operations that did. */
export async function recordExamples(): Promise<readonly string[]> {
  const before = readExamples();
  const now = await askAll();
  const changed = Object.keys(now).filter((name) => changes(name, before, now).length > 0);
  const kept = Object.entries(now).map(([name, one]) => [name, changed.includes(name) ? one : (before[name] ?? one)]);
  writeExamples(Object.fromEntries(kept));
  return changed;
}

/** Members of an operation's example that are not what they were. */
export function changes(name: string, before: Examples, now: Examples): readonly string[] {
  return differences(before[name], now[name], REQUESTS[name]?.varies).map((path) => `${name}${path}`);
}

/** Every example, from a Core that is started for it. */
export async function askAll(): Promise<Examples> {
  const apps = ['agenda', 'flash-reader'].flatMap((app) => ['--app', `docs/examples/${app}`]);
  using packages = new Packages();
  await using core = await SpawnedCore.start('--sku', skuFile(packages.root), ...apps);
  using sim = await SimControl.open(core.run);
  await sim.ask({ chip: { endpoint: 'i2c0', address: 0x24, change: { tag: TAG } } });
  await ready(core);
  const methods = await methodsOf(core);
  const answers = new Map<string, unknown>();
  const place: Place = {
    said: (operation) => answers.get(operation),
    guest: (version) => packages.folder({ version }),
  };
  const places: Places = {
    replaced: [
      [core.run, '/run/device'],
      [`${dirname(core.run)}/var`, '/var/lib/device'],
      [`${dirname(core.run)}/etc`, '/etc/device'],
      [packages.root, '/media/usb'],
      [CHECKOUT, '/opt/device'],
      [`:${core.port}`, ':55280'],
    ],
  };
  const found: Record<string, Example> = {};
  const failed: string[] = [];
  for (const [name, asked] of Object.entries(REQUESTS)) {
    const method = methods.get(name);
    if (method === undefined) throw new Error(`there is no operation ${name}`);
    if (asked.upgrade !== undefined) await upgrade(core, place.guest(asked.upgrade));
    if (asked.refused !== undefined) await core.ask(asked.refused, { token: core.token('agenda') });
    const body = typeof asked.body === 'function' ? asked.body(place) : asked.body;
    if (STREAMS.has(name)) {
      const answer = await firstEvent(core, asked.path);
      found[name] = {
        method,
        path: asked.path,
        status: 200,
        answer: { ...eventFields(answer, places, asked) },
        stream: true,
      };
      continue;
    }
    const headers = asked.traced ? { traceparent: TRACEPARENT } : {};
    const once = () => core.ask(asked.path, { method, body, headers, ...caller(core, asked) });
    const answer = await (asked.mayBeLost ? eventually(() => unlessLost(once()), `an answer of ${name}`) : once());
    if (answer.status >= 400 && answer.status !== asked.fails)
      failed.push(`${method} ${asked.path} answered ${answer.status}: ${answer.text}`);
    if (answer.status === 202) await settled(core, answer);
    answers.set(name, answer.body);
    found[name] = {
      method,
      path: asked.path,
      ...(asked.app && { app: true }),
      ...(body && { body: shown(body, places) }),
      status: answer.status,
      answer: shown(answer.body, places, asked),
    };
  }
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return found;
}

const STREAMS: ReadonlySet<string> = new Set(['events.stream', 'logs.stream', 'sim.watch']);

async function unlessLost(answer: Promise<Answer>): Promise<Answer | undefined> {
  const { status } = await answer;
  return status < 500 ? answer : undefined;
}

function caller(core: SpawnedCore, { app }: Asked) {
  return app ? { token: core.token('agenda') } : { unix: true };
}

async function ready(core: SpawnedCore): Promise<void> {
  await eventually(async () => {
    const { body } = await core.ask('/functions', { unix: true });
    const there = (name: string) => body.functions.some((one: { name: string }) => one.name === name);
    return there('agenda.next') && there('flash.id');
  }, 'the demo apps');
  await eventually(async () => {
    const { body } = await core.ask('/nfc/readers', { unix: true });
    return body.readers.some((one: { tag?: object }) => one.tag !== undefined);
  }, 'the tag');
}

async function upgrade(core: SpawnedCore, source: string): Promise<void> {
  await eventually(async () => {
    const { body } = await core.ask('/plugins/installed', { unix: true });
    return body.plugins.every((one: { state: string }) => one.state === 'good');
  }, 'the end of the probation');
  await settled(core, await core.ask('/plugins/install', { body: { source }, unix: true }));
}

/** What was begun is over before anybody asks on. */
async function settled(core: SpawnedCore, { body }: Answer): Promise<void> {
  const { change } = body as { readonly change?: unknown };
  if (typeof change !== 'string') return; // an event was taken: nothing follows
  await eventually(async () => {
    const { state } = (await core.ask(`/changes/${change}`, { unix: true })).body as { readonly state: string };
    return state === 'done' || state === 'undone' || state === 'failed';
  }, `the end of change ${change}`);
}

/** The simulator SKU; what is installed counts as good after a moment. */
function skuFile(folder: string): string {
  const sku = parse(readFileSync(`${CHECKOUT}/manifests/skus/simulator.yaml`, 'utf8')) as SkuManifest;
  const plugins = { ...sku.plugins, 'plugin-store': { version: '^1.0.0', config: { probationMs: 500 } } };
  const file = join(folder, 'simulator.yaml');
  writeFileSync(file, stringify({ ...sku, plugins }));
  return file;
}

async function methodsOf(core: SpawnedCore): Promise<ReadonlyMap<string, string>> {
  const { paths } = (await core.ask('/openapi.json', { unix: true })).body;
  return new Map(
    Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap((methods) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase()]),
    ),
  );
}

/** The first event of a stream; an event is published where none would come by itself. */
async function firstEvent(core: SpawnedCore, path: string): Promise<string> {
  const sent = request({ socketPath: core.socket, path, agent: false });
  sent.end();
  const [response] = await once(sent, 'response');
  const publish = { topic: `app.${AGENDA}.event.opened`, payload: { page: 'today' } };
  await core.ask('/events/publish', { body: publish, token: core.token('agenda') });
  let said = '';
  for await (const chunk of response.setEncoding('utf8')) {
    said += chunk;
    const event = said.split('\n\n').find((block, at, all) => at < all.length - 1 && /^data:/m.test(block));
    if (event !== undefined) {
      response.destroy();
      return event;
    }
  }
  throw new Error(`${path} ended without an event: ${said}`);
}

/** An event of a stream by its fields; `id` is never the same. */
function eventFields(event: string, places: Places, asked: Asked): Readonly<Record<string, unknown>> {
  const fields = event.split('\n').map((line) => {
    const [, name = '', value = ''] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (name === 'data') return [name, shown(JSON.parse(value), places, asked)];
    return [name, name === 'id' ? '1' : value];
  });
  return Object.fromEntries(fields.filter(([name]) => name !== ''));
}
