/** The case with a number: the same bytes for the same seed, each time. */
import { parse } from 'yaml';
import { mutateBytes } from './mutate-bytes.ts';
import { mutateValue } from './mutate-value.ts';
import { Random } from './random.ts';
import type { Target } from './target.ts';

/** A little of everything is mutated below its seal or as a tree, the rest as plain bytes. */
const STRUCTURED = 0.75;

export function caseOf(target: Target, seeds: readonly Uint8Array[], seed: number, index: number): Buffer {
  const random = new Random(seed, target.name, index);
  const [one, other] = [random.pick(seeds), random.pick(seeds)];
  const { words = [], seal } = target;
  if (!random.chance(STRUCTURED)) return mutateBytes(one, random, { other, words });
  if (target.form === 'value') return mutateValue(treeOf(one), random, treeOf(other), words);
  if (seal === undefined) return mutateBytes(one, random, { other, words });
  const open = (bytes: Uint8Array) => seal.open(Buffer.from(bytes));
  return seal.close(mutateBytes(open(one), random, { other: open(other), words }));
}

const trees = new WeakMap<Uint8Array, unknown>();

function treeOf(seed: Uint8Array): unknown {
  if (!trees.has(seed)) trees.set(seed, parse(Buffer.from(seed).toString('utf8')));
  return trees.get(seed);
}
