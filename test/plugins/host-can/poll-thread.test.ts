/** The thread that listens for all host buses, on pipes of the kernel itself. */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, writeSync } from 'node:fs';
import { after, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import koffi from 'koffi';
import { nativeCalls } from '../../../plugins/hardware/shared/host/native.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

function pipe(): readonly [from: number, to: number] {
  const ends = Buffer.alloc(8);
  koffi.load(null).func('int pipe(void *ends)')(ends);
  return [ends.readInt32LE(0), ends.readInt32LE(4)];
}

const isOpen = (fd: number) => {
  try {
    return fstatSync(fd) !== undefined;
  } catch {
    return false;
  }
};

it('one thread hears all descriptors, and ends with the last of them', async () => {
  const calls = await nativeCalls();
  const [oneFrom, oneTo] = pipe();
  const [twoFrom, twoTo] = pipe();
  const heard: string[] = [];
  const over: string[] = [];
  const listen = (fd: number, name: string) =>
    calls.watch(
      fd,
      8,
      (record, lost) => void heard.push(`${name} ${Buffer.from(record)} ${lost}`),
      (error) => void over.push(`${name} ${error.message}`),
    );
  const one = listen(oneFrom, 'one');
  const two = listen(twoFrom, 'two');
  writeSync(oneTo, 'first');
  await eventually(() => heard.length === 1, 'the first record');
  writeSync(twoTo, 'second, longer');
  await eventually(() => heard.length === 3, 'both parts of the second');
  assert.deepEqual(heard, ['one first 0', 'two second,  0', 'two longer 0']);
  one[Symbol.dispose]();
  calls.close(oneFrom);
  assert.ok(isOpen(oneFrom), 'it stays open until the thread does not look at it any more');
  await eventually(() => !isOpen(oneFrom), 'its end');
  closeSync(twoTo);
  await eventually(() => over.length === 1, 'word of the end of the other');
  assert.match(over[0]!, /^two (the device hung up|end of the device)/);
  two[Symbol.dispose]();
  calls.close(twoFrom);
  await eventually(() => !isOpen(twoFrom), 'the end of the thread');
  const [againFrom, againTo] = pipe();
  using _again = listen(againFrom, 'again');
  writeSync(againTo, 'x');
  await eventually(() => heard.length === 4, 'a record with another thread');
  closeSync(againTo);
  closeSync(oneTo);
  await eventually(() => over.length === 2, 'word of the end');
  calls.close(againFrom);
});

it('records beyond the bound are dropped and counted', async () => {
  const calls = await nativeCalls();
  const [from, to] = pipe();
  let records = 0;
  let lost = 0;
  using watch = calls.watch(
    from,
    4,
    (_, before) => {
      records++;
      lost += before;
    },
    () => undefined,
  );
  const MANY = 60_000;
  writeSync(to, Buffer.alloc(4));
  await eventually(() => records === 1, 'a thread that listens');
  const four = Buffer.alloc(4 * 1_000);
  // A pipe holds 64 KiB: this thread waits here until the other one has read, and takes nothing meanwhile.
  for (let count = 0; count < MANY / 1_000; count++) writeSync(to, four);
  await eventually(() => {
    writeSync(to, Buffer.alloc(4));
    return records + lost >= MANY;
  }, 'all of them, heard or counted');
  assert.ok(lost > 0 && records > 0, `${records} heard, ${lost} counted`);
  watch[Symbol.dispose]();
  calls.close(from);
  closeSync(to);
  await eventually(() => !isOpen(from), 'the end of the thread');
});
