/** The codec in C against the test vectors, and the rules that firmware asks of the core. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openPacket } from '../../plugins/hardware/cbp/packet.ts';
import { SeededRandom } from '../../plugins/hardware/port-sim/sim/random.ts';
import { without } from '../fixtures/debian.ts';
import { buildFolder, CORE_FILES, compile, noCompiler, STRICT } from '../fixtures/responder.ts';

interface Vector {
  readonly name: string;
  readonly n: number;
  readonly full: string;
  readonly expect?: string;
}

const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../fixtures/cbp-vectors.json', import.meta.url), 'utf8'),
);

describe('the responder in C, codec', { skip: noCompiler }, () => {
  let folder = '';
  let codec = '';
  before(() => {
    folder = buildFolder();
    codec = join(folder, 'codec');
    compile([...STRICT, '-O1', '-o', codec, 'cbp_wire.c', 'codec.c']);
  });

  const run = (packets: readonly string[]) =>
    execFileSync(codec, { input: packets.map((hex) => `${hex.length / 2} ${hex}\n`).join(''), encoding: 'utf8' })
      .trim()
      .split('\n');

  it('rejects and reads every vector, and writes the same bytes again', () => {
    const answers = run(VECTORS.map(({ full }) => full));
    VECTORS.forEach(({ name, full, expect }, index) => {
      const words = answers[index]!.split(' ');
      assert.equal(words[0], expect ?? 'good', name);
      if (!expect) assert.equal(words.at(-1), full, name);
    });
  });

  it('sees the same packet head and frames as the codec of the host', () => {
    const good = VECTORS.filter(({ expect }) => !expect);
    run(good.map(({ full }) => full)).forEach((answer, index) => {
      const packet = openPacket(Buffer.from(good[index]!.full, 'hex'));
      assert.ok(typeof packet === 'object');
      const { data, more, rst, seq, ack, sid } = packet;
      const head = [data, more, rst].map(Number).concat(seq, ack).join(':');
      const frames = packet.frames.map(({ type, fin, ep, rid, op, aux, body }) =>
        ['frame', type, Number(fin), ep, rid, op, aux, body.length].join(':'),
      );
      assert.deepEqual(answer.split(' ').slice(1, -1), [`${head}:${sid.toString(16).padStart(4, '0')}`, ...frames]);
    });
  });

  it('gives the verdict of the host on 20,000 damaged packets', () => {
    const random = new SeededRandom(7);
    const damaged = Array.from({ length: 20_000 }, () => {
      const bytes = Buffer.from(VECTORS[random.below(VECTORS.length)]!.full, 'hex');
      for (let flips = 1 + random.below(6); flips > 0; flips--) {
        // Mostly where the fields are.
        bytes[random.below(random.hit(0.5) ? 12 : bytes.length)]! ^= 1 << random.below(8);
      }
      return bytes.toString('hex');
    });
    run(damaged).forEach((answer, index) => {
      const verdict = openPacket(Buffer.from(damaged[index]!, 'hex'));
      assert.equal(answer.split(' ')[0], typeof verdict === 'object' ? 'good' : verdict, damaged[index]);
    });
  });

  it('needs of its surroundings no more than the memory functions and strlen', { skip: without('binutils') }, () => {
    const object = join(folder, 'core.o');
    const objects = CORE_FILES.map((file) => {
      const one = join(folder, file.replace(/c$/, 'o'));
      compile([...STRICT, '-O2', '-ffreestanding', '-fno-stack-protector', '-c', '-o', one, file]);
      return one;
    });
    compile(['-r', '-nostdlib', '-o', object, ...objects]);
    const missing = execFileSync('nm', ['-u', object], { encoding: 'utf8' }).match(/\bU \S+/g) ?? [];
    const allowed = ['memcpy', 'memmove', 'memset', 'strlen', '_GLOBAL_OFFSET_TABLE_'];
    assert.deepEqual(
      missing.map((line) => line.slice(2)).filter((name) => !allowed.includes(name)),
      [],
    );
  });
});
