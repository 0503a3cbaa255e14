/** Files that are installed or restored: packages, images, backups. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  APP_PACKAGE,
  archiveEnd,
  member,
  packApp,
  pathProblem,
  REPRODUCIBLE,
  readSignature,
  verifyTree,
} from '@device-core/plugin-api/inside/packages';
import { ImageError, imageHash, parseImage, verifyImage } from '../../../plugin-api/inside/image.ts';
import { readPackage, stagePackage } from '../../../plugins/apps/shared/package-store/staging.ts';
import { readArchive } from '../../../plugins/life/backup/archive.ts';
import { sha256 } from '../../../plugins/life/maker/image/list.ts';
import { ArchiveSource } from '../../../plugins/life/updater/archive-source.ts';
import { tinyImage } from '../../fixtures/image.ts';
import { TAR, TAR_GZ } from '../seals.ts';
import { type Opened, type Target, WrongAcceptance } from '../target.ts';
import { PRIVATE_KEY, PUBLIC_KEY } from './keys.ts';

/** A folder of its own, and what removes it. */
function place(): { readonly folder: string } & AsyncDisposable {
  const folder = mkdtempSync(join(tmpdir(), 'fa-'));
  return {
    folder,
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const TAR_WORDS = ['../x', '/etc/x', 'ustar', '\0', '00000000000\0', '77777777777\0', 'path=', '11 path=../a\n'];
const FILES = { 'app.yaml': 'id: com.example.a\n', 'main.js': '// main\n', 'lib/b.js': 'b'.repeat(700) };
const LIMITS = { files: 64, bytes: 1 << 20 };

const PACKAGE: Target = {
  name: 'package',
  cost: 6,
  form: 'bytes',
  seal: TAR_GZ,
  words: TAR_WORDS,
  async open() {
    const { folder, ...rest } = place();
    const source = join(folder, 'source');
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(join(source, path, '..'), { recursive: true });
      writeFileSync(join(source, path), text);
    }
    const { bytes, tree } = await packApp(source, { top: 'a-1.0.0', key: PRIVATE_KEY, limits: LIMITS });
    rmSync(source, { recursive: true });
    const signal = new AbortController().signal;
    const [file, out] = [join(folder, 'a.app'), join(folder, 'out')];
    return {
      ...rest,
      seeds: [bytes],
      async run(changed) {
        writeFileSync(file, changed);
        await stagePackage({ refusal: 'it is no file' }, { source: file, folder: out, limits: LIMITS, signal }).finally(
          () => {
            const around = readdirSync(folder).toSorted();
            if (String(around) !== 'a.app,out') throw new WrongAcceptance(`it wrote beside its folder: ${around}`);
          },
        );
        const found = await readPackage(APP_PACKAGE, out, file, LIMITS);
        const signature = await readSignature(APP_PACKAGE, 'com.example.a', out);
        verifyTree(APP_PACKAGE, 'com.example.a', found.hash, signature, [PUBLIC_KEY]);
        if (found.hash !== tree.hash) throw new WrongAcceptance('other files have the same signature');
        return true;
      },
    } satisfies Opened;
  },
};

const IMAGE = tinyImage({
  signers: [{ privateKey: PRIVATE_KEY, publicKey: PUBLIC_KEY, fingerprint: '' }],
  files: { 'bin/large': Buffer.alloc((4 << 20) + 1) },
  platform: { os: 'linux', arch: 'x64', libc: 'glibc' },
});

/** The list of an image by itself; that a changed one has no signature is another check. */
function checkList(list: Uint8Array): boolean {
  const { files } = parseImage(list);
  const bad = files.find(({ path }) => pathProblem(path) !== undefined);
  if (bad !== undefined) throw new WrongAcceptance(`a path of the list leads elsewhere: ${bad.path}`);
  return true;
}

const isImageError = (error: unknown): boolean => error instanceof ImageError;

const IMAGE_LIST: Target = {
  name: 'image-list',
  form: 'value',
  words: ['pieces', 'files', '../a', 'image.json', 'sha256', 'mode', 'path'],
  async open() {
    return { seeds: [IMAGE.list], refuses: isImageError, run: checkList };
  },
};

const IMAGE_SIGNATURE: Target = {
  name: 'image-signature',
  form: 'bytes',
  words: ['sha256:', ' ', '\n', '=', 'AA=='],
  async open() {
    const signature = (text: string) => Buffer.from(text.split(' ')[1] ?? '', 'base64');
    return {
      seeds: [Buffer.from(IMAGE.signatures)],
      refuses: isImageError,
      run(bytes) {
        verifyImage(IMAGE.hash, bytes.toString('utf8'), IMAGE.keys, 0);
        const lines = bytes.toString('utf8').split('\n');
        if (!lines.some((line) => signature(line).equals(signature(IMAGE.signatures))))
          throw new WrongAcceptance('another signature is taken');
        return true;
      },
    };
  },
};

const IMAGE_ARCHIVE: Target = {
  name: 'image-archive',
  form: 'bytes',
  seal: TAR,
  words: [...TAR_WORDS, 'image.json', 'image.sig', 'blobs/'],
  async open() {
    const { folder, ...rest } = place();
    const file = join(folder, 'image.tar');
    const blob = Buffer.from('a blob');
    const parts = [
      ['image.json', IMAGE.list],
      ['image.sig', Buffer.from(IMAGE.signatures)],
      [`blobs/${sha256(blob)}.zst`, blob],
    ] as const;
    const members = parts.flatMap(([path, bytes]) => member(path, bytes, { mode: 0o644, ...REPRODUCIBLE }));
    return {
      ...rest,
      seeds: [Buffer.concat([...members, archiveEnd()])],
      refuses: isImageError,
      async run(bytes) {
        writeFileSync(file, bytes);
        const { list, signatures } = await new ArchiveSource(file).newest();
        const hash = imageHash(list);
        checkList(list);
        verifyImage(hash, signatures, IMAGE.keys, 0);
        if (hash !== IMAGE.hash) throw new WrongAcceptance('another list has the same signature');
        return true;
      },
    };
  },
};

const BACKUPS = join(import.meta.dirname, '../../fixtures/backups');
const PASSPHRASE = 'long enough';

/** Each backup that is taken holds what one of the seeds holds: it has a hash, or a seal. */
async function openBackup(names: readonly string[], passphrase?: string): Promise<Opened> {
  const { folder, ...rest } = place();
  const file = join(folder, 'backup');
  const seeds = names.map((name) => readFileSync(join(BACKUPS, name)));
  const read = async (bytes: Buffer): Promise<string> => {
    writeFileSync(file, bytes);
    const taken: string[] = [];
    await readArchive(file, passphrase, {
      head: ({ sku }) => void taken.push(`sku ${sku}`),
      refuse: () => undefined,
      secrets: (text) => void taken.push(`secrets ${text}`),
      async take({ path, size }, pieces) {
        const problem = pathProblem(path);
        if (problem !== undefined) throw new WrongAcceptance(`${path}: ${problem}`);
        const all: Buffer[] = [];
        for await (const piece of pieces) all.push(Buffer.from(piece));
        taken.push(`${path} ${size} ${sha256(Buffer.concat(all))}`);
      },
    });
    return taken.join('\n');
  };
  const known = new Set<string>();
  for (const seed of seeds) known.add(await read(seed));
  return {
    ...rest,
    seeds,
    async run(bytes) {
      const taken = await read(bytes);
      if (!known.has(taken)) throw new WrongAcceptance(`another content is taken: ${taken}`);
      return true;
    },
  };
}

const BACKUP: Target = {
  name: 'backup',
  form: 'bytes',
  seal: TAR,
  words: [...TAR_WORDS, 'state/', 'backup.json', 'secrets.json', 'sha256'],
  open: () => openBackup(['form-1-open.dcb', 'form-2-open.dcb']),
};

const SEALED_BACKUP: Target = {
  name: 'sealed-backup',
  cost: 15,
  form: 'bytes',
  words: ['-> scrypt ', '-> X25519 ', '\n---', ' 16\n', ' 30\n', 'age-encryption.org/v1'],
  open: () => openBackup(['form-1-sealed.dcb', 'form-2-sealed.dcb'], PASSPHRASE),
};

export const ARCHIVES: readonly Target[] = [PACKAGE, IMAGE_LIST, IMAGE_SIGNATURE, IMAGE_ARCHIVE, BACKUP, SEALED_BACKUP];
