/**
 * Form beside form: a store of a new form lies beside that of the old one, `state.2.json` beside `state.json`, and says
 * what it was made of. A Core that goes back finds its own file as it was. Whatever is no longer seen is told in
 * `state.forms.jsonl` before anything is done about it.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { glob, readdir, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { StateForms } from '../../contract/manifest.ts';
import { appendFile } from './append.ts';
import { setAside } from './aside.ts';
import { syncName } from './names.ts';
import { readState } from './read.ts';
import { replaceFile } from './replace.ts';

/** File that another one was made of. */
export interface MadeFrom {
  readonly format: number;
  /** `sha256:<hex>` of its bytes. */
  readonly hash: string;
  /** Hashes of other older forms that lay there: a Core between the two may write one of them later. */
  readonly others?: Readonly<Record<string, string>>;
}

type Members = Readonly<Record<string, unknown>>;

export interface FormsOptions {
  /** Path of form 1: `<var>/audio/state.json`. */
  readonly path: string;
  readonly forms: StateForms;
  /** Converts a file of an older form to this form; undefined or an exception where it is damaged. */
  make(found: Members, form: number): object | undefined;
}

export interface OpenForms {
  /** To be read and written; each write says `from` again. */
  readonly file: string;
  readonly from: MadeFrom | undefined;
  /** Made anew of an older form just now, and on the disk. */
  readonly made: object | undefined;
  /** Files of newer forms, which are left alone. */
  readonly newer: readonly string[];
}

/** Path of a form of the store. */
export function formFile(path: string, form: number): string {
  const ending = extname(path);
  return form === 1 ? path : `${path.slice(0, -ending.length)}.${form}${ending}`;
}

/**
 * Puts the file of the form that is written in its place, made of what an older Core left where that changed. Rejects
 * with the codes of a disk.
 */
export async function openForms({ path, forms, make }: FormsOptions): Promise<OpenForms> {
  const { writes, reads } = forms;
  const file = formFile(path, writes);
  const store = await Store.read(path);
  const newer = store.numbers.filter((form) => form > writes);
  for (const form of newer)
    await store.tell(`${name(path, form)} is newer than form ${writes}: what was changed there is not seen`, form);
  const own = store.forms.get(writes);
  const first = own ? writes : Math.max(0, ...store.numbers.filter((form) => form < writes));
  const base = first === 0 ? writes : store.live(first);
  if (base === writes) return { file, from: own?.from, made: undefined, newer: newer.map((form) => name(path, form)) };
  const made = reads.includes(base) ? tried(() => make(store.forms.get(base)!.members, base)) : undefined;
  if (made === undefined) {
    await store.tell(`form ${writes} cannot be made of ${name(path, base)}, which stays`, base);
    return { file, from: own?.from, made: undefined, newer: newer.map((form) => name(path, form)) };
  }
  const others = Object.fromEntries(
    store.numbers.filter((form) => form < writes && form !== base).map((form) => [form, store.forms.get(form)!.hash]),
  );
  const from = { format: base, hash: store.forms.get(base)!.hash, others };
  // Told first: a crash in between tells it twice, and never not at all.
  if (own) {
    const reason = `${name(path, base)} was changed after ${basename(file)} was made`;
    await store.tell(`${reason}: it is made anew, and what it held is set aside as ${basename(file)}.corrupt-…`, base);
  } else await store.tell(`${basename(file)} was made of ${name(path, base)}`, base);
  if (existsSync(file)) await setAside(file, true);
  await replaceFile(file, `${JSON.stringify({ format: writes, from, ...made })}\n`, { lastGood: true });
  return { file, from, made, newer: newer.map((form) => name(path, form)) };
}

/** Removes forms that none of the images writes which may still start; resolves with the files. For a start with two good images. */
export async function dropForms(
  state: string,
  images: readonly Readonly<Record<string, StateForms>>[],
): Promise<readonly string[]> {
  const dropped: string[] = [];
  const stores = new Set(images.flatMap((image) => Object.keys(image)));
  for (const store of stores) {
    const written = new Set(images.flatMap((image) => image[store]?.writes ?? []));
    // A form is kept as long as an image does not say that it has another.
    if (written.size === 0 || images.some((image) => image[store] === undefined)) continue;
    // There is none below it: the usual case, without a look at the disk.
    if (written.has(1)) continue;
    const paths = new Set<string>();
    const ending = extname(store);
    for await (const found of glob([store, `${store.slice(0, -ending.length)}.*${ending}`], { cwd: state }))
      paths.add(join(state, found.replace(/\.\d+(\.[^.]+)$/, '$1')));
    for (const path of paths) {
      const { numbers, tell } = await Store.read(path);
      const kept = numbers.filter((form) => written.has(form));
      for (const form of kept.length === 0 ? [] : numbers.filter((one) => one < Math.min(...kept))) {
        await tell(`${name(path, form)} is removed: no image writes it any more`, form);
        await rm(`${formFile(path, form)}.last-good`, { force: true });
        await rm(formFile(path, form), { force: true });
        await syncName(path);
        dropped.push(formFile(path, form));
      }
    }
  }
  return dropped;
}

const name = (path: string, form: number): string => basename(formFile(path, form));

interface Form {
  readonly hash: string;
  readonly members: Members;
  readonly from: MadeFrom | undefined;
}

/** All forms of one store that are there. */
class Store {
  readonly #path: string;
  readonly forms = new Map<number, Form>();

  private constructor(path: string) {
    this.#path = path;
  }

  static async read(path: string): Promise<Store> {
    const store = new Store(path);
    const ending = extname(path);
    const stem = basename(path, ending);
    const names = await readdir(dirname(path)).catch(() => []); // nothing is there, or it may not be listed
    for (const found of names) {
      const middle = found.startsWith(stem) && found.endsWith(ending) ? found.slice(stem.length, -ending.length) : '-';
      const form = middle === '' ? 1 : Number(/^\.([2-9]|[1-9]\d{1,3})$/.exec(middle)?.[1] ?? 0);
      const read = form > 0 ? await store.#read(formFile(path, form)) : undefined;
      if (read) store.forms.set(form, read);
    }
    return store;
  }

  get numbers(): readonly number[] {
    return [...this.forms.keys()].sort((a, b) => a - b);
  }

  /** The form that says what holds: an older one where that was changed, or came, after this one was made. */
  live(form: number): number {
    const { from } = this.forms.get(form)!;
    const seen: Readonly<Record<number, string>> = from ? { ...from.others, [from.format]: from.hash } : {};
    const changed = this.numbers.findLast((one) => one < form && this.forms.get(one)!.hash !== seen[one]);
    return changed === undefined ? form : this.live(changed);
  }

  /** A line of the history, once for the same contents of a form. */
  readonly tell = async (text: string, form: number): Promise<void> => {
    const ending = extname(this.#path);
    const file = `${this.#path.slice(0, -ending.length)}.forms.jsonl`;
    const line = JSON.stringify({ told: text, hash: this.forms.get(form)?.hash });
    const before = (await readState(file).catch(() => undefined)) ?? ''; // one that cannot be read is told again
    if (before.split('\n').includes(line)) return;
    await appendFile(file, `${line}\n`, { most: 64 << 10 });
  };

  async #read(file: string): Promise<Form | undefined> {
    for (const path of [file, `${file}.last-good`]) {
      const text = await readState(path).catch(() => undefined); // as good as damaged
      const members = text === undefined ? undefined : tried(() => Object(JSON.parse(text)) as Members);
      if (text === undefined || members === undefined) continue;
      const { format, hash, others = {} } = Object(members.from) as Partial<MadeFrom>;
      const from = typeof format === 'number' && typeof hash === 'string' ? { format, hash, others } : undefined;
      return { hash: `sha256:${createHash('sha256').update(text).digest('hex')}`, members, from };
    }
    return undefined; // nothing can be made of it; who keeps it tells
  }
}

function tried<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined; // damaged: told by the caller
  }
}
