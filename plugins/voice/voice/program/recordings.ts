/** A folder of recordings with what is said in them. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import { decodeWav } from '@device-core/plugin-api/audio';
import { usage } from '@device-core/plugin-api/program';

export interface Label {
  /** `none`, `button`, or the phrase that comes first. */
  readonly wake: string;
  /** The command, without the phrase. */
  readonly text?: string;
  /** Null: it is to be refused. Absent: what the text means to the device. */
  readonly intent?: string | null;
  readonly slots?: Readonly<Record<string, unknown>>;
  /** Its figures also stand by themselves: `10 dB`. */
  readonly group?: string;
}

export interface Recording extends Label {
  readonly file: string;
  readonly path: string;
}

export interface FolderOptions {
  /** Phrase that a text begins with. */
  readonly phrase: string;
  /** Files without a label hold a command alone. */
  readonly button: boolean;
  readonly most: number;
}

export interface Pcm {
  readonly rate: number;
  readonly samples: Int16Array;
}

const LABELS = 'labels.json';
const MOST_BYTES = 64 << 20;
const MEMBERS = new Set(['wake', 'text', 'intent', 'slots', 'group']);

/** Rejects with a Failure, which names the file. */
export async function readFolder(folder: string, options: FolderOptions): Promise<readonly Recording[]> {
  const names = await namesIn(folder);
  const labels = await labelsIn(folder, names);
  const files = labels ? Object.keys(labels).sort() : names.filter((name) => extname(name).toLowerCase() === '.wav');
  if (files.length === 0) throw usage(`${folder}: it has neither ${LABELS} nor files that end with .wav`);
  if (files.length > options.most)
    throw usage(`${folder}: it has ${files.length} recordings, at most ${options.most} are taken: give --files`);
  const found: Recording[] = [];
  for (const file of files) {
    const path = join(folder, file);
    const label = labels ? labelOf(labels[file], `${LABELS}: ${file}`) : await textOf(path, names, file, options);
    found.push({ file, path, ...label });
  }
  return found;
}

/** WAV files of a folder and those below it, with nothing said about them. */
export async function wavsBelow(folder: string, most: number): Promise<readonly string[]> {
  const all = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    throw cannot('read', folder, error);
  });
  const wavs = all.filter((name) => extname(name).toLowerCase() === '.wav').sort();
  if (wavs.length === 0) throw usage(`${folder}: it has no files that end with .wav`);
  if (wavs.length > most)
    throw usage(`${folder}: it has ${wavs.length} recordings, at most ${most} are taken: give --files`);
  return wavs.map((name) => join(folder, name));
}

/** Rejects with a Failure, which names the file. */
export async function readWav(path: string): Promise<Pcm> {
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES) throw new Error(`it has ${size} bytes, at most ${MOST_BYTES} are taken`);
    return decodeWav(await readFile(path));
  } catch (error) {
    throw cannot('read', path, error);
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    throw cannot('read', folder, error);
  }
}

async function labelsIn(
  folder: string,
  names: readonly string[],
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!names.includes(LABELS)) return undefined;
  const path = join(folder, LABELS);
  let files: unknown;
  try {
    ({ files } = JSON.parse(await readFile(path, 'utf8')) as { readonly files?: unknown });
  } catch (error) {
    throw cannot('read', path, error);
  }
  if (typeof files !== 'object' || files === null || Array.isArray(files))
    throw usage(`${path}: "files" is no table from file names to labels`);
  for (const name of Object.keys(files))
    if (name.split(/[\\/]/).includes('..') || name.startsWith('/'))
      throw usage(`${path}: ${name} is not below the folder`);
  return files as Readonly<Record<string, unknown>>;
}

function labelOf(given: unknown, where: string): Label {
  if (typeof given !== 'object' || given === null) throw usage(`${where} has no label`);
  const unknown = Object.keys(given).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) throw usage(`${where}: ${unknown} is none of ${[...MEMBERS].join(', ')}`);
  const { wake, text, intent, slots, group } = given as Record<string, unknown>;
  const fault =
    (typeof wake !== 'string' && 'wake is no text: a phrase, "button" or "none"') ||
    (text !== undefined && typeof text !== 'string' && 'text is no text') ||
    (intent !== undefined && intent !== null && typeof intent !== 'string' && 'intent is neither a text nor null') ||
    (slots !== undefined && (typeof slots !== 'object' || slots === null) && 'slots are no table') ||
    (slots !== undefined && typeof intent !== 'string' && 'slots need an intent') ||
    (group !== undefined && typeof group !== 'string' && 'group is no text');
  if (fault) throw usage(`${where}: ${fault}`);
  return given as Label;
}

async function textOf(
  path: string,
  names: readonly string[],
  file: string,
  { phrase, button }: FolderOptions,
): Promise<Label> {
  const name = `${file.slice(0, -extname(file).length)}.txt`;
  if (!names.includes(name)) throw usage(`${path}: its text is missing: ${name}, empty where no phrase is said`);
  const said = await readFile(`${path.slice(0, -extname(path).length)}.txt`, 'utf8').catch((error: unknown) => {
    throw cannot('read', name, error);
  });
  const text = said.trim().toLowerCase();
  if (button) return text === '' ? { wake: 'none' } : { wake: 'button', text };
  if (text !== phrase && !text.startsWith(`${phrase} `) && !text.startsWith(`${phrase},`)) return { wake: 'none' };
  const command = text.slice(phrase.length).replace(/^[\s,]+/, '');
  return command === '' ? { wake: phrase } : { wake: phrase, text: command };
}

function cannot(verb: string, path: string, error: unknown) {
  return usage(`cannot ${verb} ${path}: ${(error as NodeJS.ErrnoException).code ?? reasonOf(error)}`);
}
