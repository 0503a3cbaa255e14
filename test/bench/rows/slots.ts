/** Row 88: what staging a whole image costs beside `cp -a` and `sha256sum` of the same files, and how much memory it takes. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { newRecord } from '@device-core/plugin-api/inside/boot-record';
import { type ImageFile, imageHash, PIECE, signImage } from '@device-core/plugin-api/inside/image';
import { RecordFile } from '@device-core/plugin-api/inside/record-file';
import { imageOf, listOf, testKey } from '../../fixtures/image-folder.ts';
import { type Measured, quartiles, type Row } from '../harness.ts';

/** As many as an image of SKU device has beside its Node. */
const FILES = 1_700;
const MiB = 1 << 20;

/** Stages in a process of its own, and says what it took. */
const STAGE = `
import { SlotWriter } from '@device-core/plugin-api/inside/slot-files';
const [, system, boot, folder] = process.argv;
const writer = new SlotWriter({ system, boot });
writer.inspect(folder);
const before = process.memoryUsage.rss();
const start = process.cpuUsage();
let most = before;
await writer.stage(folder, { progress: () => { most = Math.max(most, process.memoryUsage.rss()); } });
const { user, system: kernel } = process.cpuUsage(start);
console.log(JSON.stringify({ cpu: user + kernel, memory: Math.max(most, process.memoryUsage.rss()) - before }));
`;

/** Microseconds of processor of a command and its children. */
function cpuOf(script: string): number {
  const timed = spawnSync('bash', ['-c', `TIMEFORMAT='%U %S'; time { ${script}; }`], { encoding: 'utf8' });
  const [user = 0, system = 0] = (timed.stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return (user + system) * 1e6;
}

function hashed(path: string): Pick<ImageFile, 'size' | 'sha256' | 'pieces'> {
  const file = openSync(path, 'r');
  const whole = createHash('sha256');
  const pieces: string[] = [];
  const buffer = Buffer.alloc(PIECE);
  let size = 0;
  for (let count = readSync(file, buffer); count > 0; count = readSync(file, buffer)) {
    size += count;
    whole.update(buffer.subarray(0, count));
    pieces.push(createHash('sha256').update(buffer.subarray(0, count)).digest('hex'));
  }
  closeSync(file);
  return { size, sha256: whole.digest('hex'), ...(size > PIECE && { pieces }) };
}

export const rows: readonly Row[] = [
  {
    id: 88,
    title: 'Stage a whole image: CPU beside cp -a and sha256sum; memory over the start',
    goals: [
      { name: 'from the slot that runs', goal: 1.7 },
      { name: 'from blobs', goal: 2.5 },
      { name: 'memory', goal: 32, unit: 'MiB' },
    ],
    async run({ quick }) {
      const root = mkdtempSync(join(tmpdir(), 'dc-slots-'));
      try {
        const [system, boot] = [join(root, 'system'), join(root, 'boot')];
        const slot = join(system, 'slots/a');
        const paths = [
          'bin/node',
          ...Array.from({ length: FILES }, (_, at) => `node_modules/p${at % 80}/f${at}.js`),
        ].sort();
        const files: ImageFile[] = [];
        for (const path of paths) {
          const place = join(slot, path);
          mkdirSync(dirname(place), { recursive: true });
          if (path === 'bin/node') copyFileSync(process.execPath, place);
          else writeFileSync(place, `${path}\n${createHash('sha256').update(path).digest('hex')}\n`.repeat(60));
          files.push({ path, mode: path === 'bin/node' ? 0o755 : 0o644, ...hashed(place) });
        }
        const key = testKey();
        const { libc } = imageOf({}).platform;
        const write = (folder: string, version: string) => {
          const list = listOf(imageOf({}, { files, version, platform: { os: 'linux', arch: process.arch, libc } }));
          mkdirSync(folder, { recursive: true });
          writeFileSync(join(folder, 'image.json'), list);
          writeFileSync(join(folder, 'image.sig'), signImage(imageHash(list), key.privatePem));
          return imageHash(list);
        };
        mkdirSync(join(system, 'boot'), { recursive: true });
        mkdirSync(boot);
        writeFileSync(join(system, 'boot/keys.json'), JSON.stringify(key.keys));
        const hash = write(slot, '1.0.0');
        const record = new RecordFile(join(system, 'boot/record'));
        record.read();
        record.write(newRecord({ a: { state: 'good', tries: 0, version: '1.0.0', image: hash } }));
        const fetched = join(root, 'fetched');
        write(fetched, '1.1.0');
        const blobs = join(root, 'fetched/blobs');
        mkdirSync(blobs);
        const { zstdCompressSync } = await import('node:zlib');
        for (const file of files)
          writeFileSync(join(blobs, `${file.sha256}.zst`), zstdCompressSync(readFileSync(join(slot, file.path))));
        const stage = (running: boolean): { cpu: number; memory: number } => {
          if (running) writeFileSync(join(boot, 'boot.json'), '{"slot":"a","safe":false}');
          else rmSync(join(boot, 'boot.json'), { force: true });
          // As the unit of the helper starts it.
          const words = ['--expose-gc', '--input-type=module', '--eval', STAGE, system, boot, fetched];
          const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', cwd: import.meta.dirname });
          if (stdout === '') throw new Error(stderr);
          return JSON.parse(stdout) as { cpu: number; memory: number };
        };
        const [near, far, memory, plain]: number[][] = [[], [], [], []];
        for (let round = 0; round < (quick ? 3 : 9); round++) {
          const copy = join(root, 'copy');
          const command = `cp -a ${slot} ${copy} && find ${copy} -type f -print0 | xargs -0 sha256sum >/dev/null`;
          plain!.push(cpuOf(command));
          rmSync(copy, { recursive: true });
          const [one, two] = [stage(true), stage(false)];
          near!.push(one.cpu);
          far!.push(two.cpu);
          memory!.push(Math.max(one.memory, two.memory) / MiB);
        }
        const beside = (ours: readonly number[]): Measured => ({
          ...quartiles(ours.map((value, at) => value / plain![at]!)),
          ours: `${(quartiles(ours).median / 1e6).toFixed(2)} s`,
          theirs: `${(quartiles(plain!).median / 1e6).toFixed(2)} s`,
        });
        return { 'from the slot that runs': beside(near!), 'from blobs': beside(far!), memory: quartiles(memory!) };
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    },
  },
];
