import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { maybe } from '@device-core/plugin-api';
import { IMAGE_LIST, ImageError, isImageVersion, platformHere } from '@device-core/plugin-api/inside/image';
import { defineProgram, EXIT, Failure, type ProgramOutput, usage } from '@device-core/plugin-api/program';
import { imageLine } from '../../keys/sign.ts';
import { openSigner } from '../../keys/signer.ts';
import { holdLock } from '../../sku/lock-file.ts';
import { writeArchive } from '../archive.ts';
import { type Contents, type ImageList, listOf } from '../list.ts';
import { invalid } from '../source.ts';
import { unpack, writeImage } from '../write.ts';
import { Checkout } from './checkout.ts';
import { contentsOf, skuPlace } from './contents.ts';
import { KNOWN_GOOD, knownGoodOf } from './known-good.ts';
import { SBOM_FILE, sbomOf } from './sbom.ts';
import { skuOf } from './sku.ts';
import { type Trial, trialLines, tryStart } from './trial.ts';

const CHECKOUT = resolve(import.meta.dirname, '../../../../..');
/** Loaders below cannot start what is built here. */
const MIN_LOADER = 1;
const CACHE = 'node_modules/.cache/device-core-images';
const SEVERITIES = ['normal', 'security'] as const;

interface BuildArgs {
  readonly sku: string;
  readonly out: string;
  readonly archive?: string;
  readonly source: string;
  readonly version?: string;
  readonly sign: readonly string[];
  readonly passphraseFile?: string;
  readonly notes?: string;
  readonly severity: (typeof SEVERITIES)[number];
  readonly level: number;
}

export interface Built extends ImageList {
  readonly contents: Contents;
  readonly changed?: string;
}

/** Computes the contents and the list of the image of a SKU; nothing is started and nothing is written. */
export function buildImage(checkout: Checkout, args: Pick<BuildArgs, 'sku' | 'version' | 'notes' | 'severity'>): Built {
  const sku = skuOf(resolve(args.sku), checkout);
  const { contents, packages } = contentsOf(checkout, sku);
  holdLock(resolve(args.sku), checkout, sku, { contents, packages });
  const version = args.version ?? checkout.package.version;
  contents.set(KNOWN_GOOD, knownGoodOf(contents, checkout.node, skuPlace(sku.sku.id)));
  const sbom = Buffer.from(sbomOf({ checkout, sku, version, packages, contents }));
  contents.set(SBOM_FILE, { mode: 0o644, bytes: () => sbom });
  const list = listOf(contents, {
    sku: sku.sku.id,
    version,
    platform: platformHere(),
    builtAt: checkout.time,
    plugins: sku.lock,
    minLoader: MIN_LOADER,
    state: sku.state,
    severity: args.severity,
    ...maybe({ notes: args.notes }),
  });
  const { changed } = checkout;
  return { ...list, contents, ...maybe({ changed }) };
}

/** `devicectl image build` */
export const program = defineProgram<BuildArgs>({
  description:
    'Makes the image of a SKU from a checkout: list, signatures and blobs. It is started to READY and in safe mode before it is written.',
  params: {
    type: 'object',
    required: ['sku', 'out'],
    properties: {
      sku: { type: 'string', description: 'file of the SKU' },
      out: { type: 'string', description: 'folder of the image; what was there is replaced' },
      archive: { type: 'string', description: 'write it as one file, too' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout with its packages' },
      version: { type: 'string', description: 'of the image (default: that of the Core)' },
      sign: { type: 'array', items: { type: 'string' }, default: [], description: 'FOLDER/NAME of a key that signs' },
      passphraseFile: { type: 'string', description: 'file whose first line opens the keys; - is standard input' },
      notes: { type: 'string', description: 'what is new, for who has to consent' },
      severity: { type: 'string', enum: [...SEVERITIES], default: 'normal' },
      level: { type: 'integer', minimum: 1, maximum: 19, default: 9, description: 'of compression' },
    },
  },
  cli: { flags: { out: ['out', 'o'] } },
  async run({ out, args, signal }) {
    const folder = resolve(args.out);
    refuseForeign(folder);
    refuseVersion(args.version);
    const checkout = new Checkout(args.source);
    const begun = performance.now();
    const signers = [];
    for (const key of args.sign) signers.push(await openSigner(key, { passphraseFile: args.passphraseFile }));
    const built = listed(args.sku, () => buildImage(checkout, args));
    const trials = await tried(built, signal);
    const signatures = signers.map((signer) => imageLine(signer, built.hash)).join('');
    writeImage(folder, built.contents, built, signatures, { cache: checkout.path(CACHE), level: args.level });
    if (args.archive !== undefined) writeArchive(folder, resolve(args.archive));
    await told(out, { ...built, folder, trials, signed: signers.length, ms: performance.now() - begun });
  },
});

/** The target folder is replaced, so it has to be an image. */
function refuseForeign(folder: string): void {
  if (!existsSync(folder) || existsSync(join(folder, IMAGE_LIST))) return;
  if (readdirSync(folder).length > 0) throw usage(`${folder} is there, and is no image`, 'name another folder');
}

/** Said before anything is built. */
function refuseVersion(version: string | undefined): void {
  if (version !== undefined && !isImageVersion(version)) throw usage(`--version must be like 1.2.3, not "${version}"`);
}

/** A list that no device would take is no list: notes that are too long, a file of more than 4 GiB. */
function listed(sku: string, build: () => Built): Built {
  try {
    return build();
  } catch (error) {
    throw error instanceof ImageError ? invalid(sku, error) : error;
  }
}

async function tried({ contents, image }: Built, signal: AbortSignal): Promise<readonly Trial[]> {
  const folder = mkdtempSync(join(tmpdir(), 'device-image-'));
  try {
    const slot = join(folder, 'slot');
    unpack(contents, slot);
    const trials: Trial[] = [];
    for (const mode of ['normal', 'safe mode'] as const)
      trials.push(
        await tryStart({ slot, sku: skuPlace(image.sku), root: join(folder, mode.replace(' ', '-')) }, mode, signal),
      );
    const left = readdirSync(slot, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
    if (left.length !== contents.size)
      throw new Failure(
        EXIT.answered,
        'SYSTEM_IMAGE_INVALID',
        'it writes into its own folder, where no device lets it',
      );
    return trials;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Told extends Built {
  readonly folder: string;
  readonly trials: readonly Trial[];
  readonly signed: number;
  readonly ms: number;
}

async function told(out: ProgramOutput, { image, hash, folder, trials, signed, changed, ms }: Told): Promise<void> {
  const bytes = image.files.reduce((sum, { size }) => sum + size, 0);
  const { sku, version, files } = image;
  if (out.json)
    return out.line(
      JSON.stringify({
        ok: true,
        folder,
        image: hash,
        sku,
        version,
        files: files.length,
        bytes,
        signed,
        trials,
        changed,
      }),
    );
  await out.line(`${folder}: ${sku} ${version}, ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB`);
  await out.line(`  ${hash}`);
  for (const line of trials.flatMap(trialLines)) await out.line(line);
  if (changed !== undefined) await out.line(`  holds what no commit has: ${changed} and maybe more`);
  if (signed === 0) await out.line('  it has no signature: no device will take it (devicectl keys sign)');
  await out.line(`  built in ${(ms / 1000).toFixed(1)} s`);
}
