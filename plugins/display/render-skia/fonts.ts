/** Font families of the device, and no others: a character without a glyph is shown as a replacement, and reported. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { addon } from './canvas.ts';
import { type Coverage, coverageOf, covers } from './coverage.ts';

export interface FontFile {
  readonly family: string;
  readonly path: string;
  readonly weight?: number;
}

/** Font names for a canvas, and the reach from the line, in shares of the size. */
export interface Face {
  readonly families: string;
  readonly ascent: number;
  readonly descent: number;
}

export const INTER = 'Inter';
/** Subsets of Inter that the package has; all but the first are opened when a character of theirs is to be shown. */
const SUBSETS = ['latin', 'latin-ext', 'cyrillic', 'cyrillic-ext', 'greek', 'greek-ext', 'vietnamese'] as const;
const WEIGHTS = [400, 700] as const;
/** Inter has no U+FFFD, and of other signs Skia would take one of any font of the machine. */
const REPLACEMENT = '?';
/** A half surrogate pair becomes this; no font could bring a glyph for it. */
const BROKEN = '\ufffd';
const PLAIN = /^[\x20-\x7e\u00a0-\u00ff\u2026\n]*$/;
/** Nothing is seen of them: they need no glyph, and without one they are left out. */
const UNSEEN = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$/u;
const MOST_MISSING = 256;
const MOST_KEPT = 256;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const require = createRequire(import.meta.url);

interface Family {
  readonly name: string;
  readonly coverage: Coverage;
  readonly metrics: { readonly ascent: number; readonly descent: number };
}

export class Fonts {
  readonly #packs: readonly FontFile[];
  readonly #families = new Map<string, Family>();
  readonly #waiting: (typeof SUBSETS)[number][] = [...SUBSETS];
  readonly #missing = new Set<string>();
  readonly #told = new Set<string>();
  readonly #faces = new Map<string, Face>();
  readonly #printable = new Map<string, string>();
  readonly #problems: string[] = [];
  #ranges: Readonly<Record<string, Coverage>> | undefined;
  #opened = false;

  constructor(packs: readonly FontFile[]) {
    this.#packs = packs;
  }

  /** Files that could not be used, for /health. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Characters that no font has and that were not named yet. */
  missing(): readonly string[] {
    const fresh = [...this.#missing].filter((character) => !this.#told.has(character));
    for (const character of fresh) this.#told.add(character);
    return fresh;
  }

  /** The face of a family, `Inter` where the device has none of that name. Other families follow, for what it lacks. */
  face(family: string = INTER): Face {
    this.#open();
    const known = this.#faces.get(family);
    if (known !== undefined) return known;
    const first = this.#families.get(family) ?? this.#families.get(INTER)!;
    const names = [first.name, ...[...this.#families.keys()].filter((name) => name !== first.name)];
    const face = { families: names.map((name) => JSON.stringify(name)).join(', '), ...first.metrics };
    this.#faces.set(family, face);
    return face;
  }

  /** The text with what can be shown of it. */
  printable(text: string): string {
    if (PLAIN.test(text)) return text;
    const known = this.#printable.get(text);
    if (known !== undefined) return known;
    this.#open();
    let shown = '';
    for (const { segment } of graphemes.segment(text.toWellFormed().normalize('NFC'))) shown += this.#shown(segment);
    if (this.#printable.size === MOST_KEPT) this.#printable.delete(this.#printable.keys().next().value!);
    this.#printable.set(text, shown);
    return shown;
  }

  /** How many letters of a text stand as the sign for what no font has. */
  missingIn(text: string): number {
    return this.printable(text).split(REPLACEMENT).length - text.split(REPLACEMENT).length;
  }

  #shown(cluster: string): string {
    if (cluster === '\n') return cluster;
    let shown = '';
    for (const character of cluster) {
      if (this.#has(character.codePointAt(0)!)) shown += character;
      else if (!UNSEEN.test(character)) {
        if (this.#missing.size < MOST_MISSING && character !== BROKEN) this.#missing.add(character);
        // A letter without its accent is better than none; a sign of many parts is one sign.
        if (shown === '') return REPLACEMENT;
      }
    }
    return shown;
  }

  #has(character: number): boolean {
    for (const { coverage } of this.#families.values()) if (covers(coverage, character)) return true;
    for (const subset of this.#waiting) {
      if (!covers(this.#rangesOf()[subset] ?? [], character)) continue;
      this.#openSubset(subset);
      return this.#has(character);
    }
    return false;
  }

  #open(): void {
    if (this.#opened) return;
    this.#opened = true;
    this.#openSubset('latin');
    for (const { family, path } of this.#packs) this.#register(family, path);
  }

  #openSubset(subset: (typeof SUBSETS)[number]): void {
    this.#waiting.splice(this.#waiting.indexOf(subset), 1);
    const name = subset === 'latin' ? INTER : `${INTER} ${subset}`;
    for (const weight of WEIGHTS)
      this.#register(name, require.resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff2`));
  }

  #register(name: string, path: string): void {
    try {
      const coverage = coverageOf(readFileSync(path));
      if (addon().GlobalFonts.registerFromPath(path, name) === null) throw new Error('Skia does not take it');
      const before = this.#families.get(name);
      // Weights of a family may differ in what they have: what both have can be shown.
      if (before === undefined) this.#families.set(name, { name, coverage, metrics: metricsOf(name) });
      this.#faces.clear();
    } catch (cause) {
      const reason = reasonOf(cause);
      this.#problems.push(`${name} (${path}): ${reason}`);
      // Without its own font it can show nothing at all.
      if (name === INTER) throw new CoreError('UNAVAILABLE', { what: `the font ${path}`, reason }, { cause });
    }
  }

  #rangesOf(): Readonly<Record<string, Coverage>> {
    this.#ranges ??= Object.fromEntries(
      Object.entries(require('@fontsource/inter/unicode.json') as Record<string, string>).map(([subset, ranges]) => [
        subset,
        ranges.split(',').map((range) => {
          const [first, last = first] = range.replace('U+', '').split('-');
          return [Number.parseInt(first!, 16), Number.parseInt(last!, 16)] as const;
        }),
      ]),
    );
    return this.#ranges;
  }
}

/** Metrics measured at a large size, for a canvas answers in whole pixels. */
function metricsOf(name: string): { readonly ascent: number; readonly descent: number } {
  const context = addon().createCanvas(1, 1).getContext('2d');
  context.font = `1000px ${JSON.stringify(name)}`;
  const { fontBoundingBoxAscent, fontBoundingBoxDescent } = context.measureText('x');
  return { ascent: fontBoundingBoxAscent / 1_000, descent: fontBoundingBoxDescent / 1_000 };
}
