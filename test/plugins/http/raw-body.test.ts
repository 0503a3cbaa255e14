/** Bodies that are no JSON go to a file, and nothing of a bad one stays. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { RawBodies } from '../../../plugins/interface/http/raw-body.ts';

const root = mkdtempSync(join(tmpdir(), 'rb-'));
after(() => rmSync(root, { recursive: true }));
after(leakCheck());

const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const RAW = 'application/octet-stream';
const request = (chunks: Iterable<Buffer>, headers: Record<string, string> = {}) =>
  Object.assign(Readable.from(chunks), { headers: { 'content-type': RAW, ...headers } }) as unknown as IncomingMessage;
function* cut() {
  yield Buffer.from('half');
  throw new Error('the client went away');
}

test('a body is in its file, byte for byte, and what a former Core left is gone', async () => {
  const folder = mkdtempSync(join(root, 'a-'));
  writeFileSync(join(folder, 'left'), 'x');
  const bodies = new RawBodies(folder);
  const file = await bodies.receive(request([Buffer.from('ab'), Buffer.from('cd')]), 4, OPERATOR);
  assert.equal(readFileSync(file, 'utf8'), 'abcd');
  assert.equal(readdirSync(folder).length, 1);
  await bodies.discard(file);
  assert.deepEqual(readdirSync(folder), []);
});

for (const [what, bad, code] of [
  ['a body that is too long', () => request([Buffer.alloc(5)]), 'BODY_TOO_LARGE'],
  ['a body that says it is too long', () => request([], { 'content-length': '5' }), 'BODY_TOO_LARGE'],
  ['JSON', () => request([Buffer.from('{}')], { 'content-type': 'application/json' }), 'CONTENT_TYPE_INVALID'],
  [
    'a packed body',
    () => request([Buffer.from('x')], { 'content-encoding': 'gzip', 'content-length': '1' }),
    'CONTENT_TYPE_INVALID',
  ],
  ['a client that goes away', () => request(cut()), 'REQUEST_INVALID'],
] as const)
  test(`${what} is refused, and no file is left`, async () => {
    const folder = mkdtempSync(join(root, 'b-'));
    await assert.rejects(new RawBodies(folder).receive(bad(), 4, OPERATOR), { code });
    assert.deepEqual(readdirSync(folder), []);
  });

test('a few at a time, apps beside the operator, and of one app two', async () => {
  const bodies = new RawBodies(mkdtempSync(join(root, 'c-')));
  const receive = (caller: Caller) => bodies.receive(request([Buffer.from('x')]), 4, caller);
  const app = (id: string): Caller => ({ kind: 'app', id });
  const waiting = Array.from({ length: 4 }, () => receive(OPERATOR));
  await assert.rejects(receive(OPERATOR), { code: 'BUSY', message: /4 are in flight/ });
  waiting.push(receive(app('a')), receive(app('a')));
  await assert.rejects(receive(app('a')), { code: 'BUSY', message: /2 of this app are in flight/ });
  waiting.push(receive(app('b')), receive(app('c')));
  await assert.rejects(receive(app('d')), { code: 'BUSY', message: /4 are in flight/ });
  assert.equal((await Promise.all(waiting)).length, 8);
  await receive(app('d'));
});
