/** The addon, an optional package of 36 MB with a library of Skia: it is opened when something is to be painted. */
import { createRequire } from 'node:module';
import { reasonOf } from '@device-core/plugin-api';

type Addon = typeof import('@napi-rs/canvas');
export type Canvas = import('@napi-rs/canvas').Canvas;
export type Context = import('@napi-rs/canvas').SKRSContext2D;
export type Outline = import('@napi-rs/canvas').Path2D;

export const PACKAGE = '@napi-rs/canvas';
const require = createRequire(import.meta.url);
let library = PACKAGE;
let opened: Addon | undefined;

/** Which one is opened: the npm package, or the path of a build of the OEM's own. */
export function useLibrary(name: string): void {
  if (name !== library) opened = undefined;
  library = name;
}

/** Throws what Node throws where there is none for this machine. */
export function addon(): Addon {
  opened ??= require(library) as Addon;
  return opened;
}

/** Why it cannot be used here; undefined where it can. Without opening it. */
export function addonProblem(): string | undefined {
  try {
    const entry = require.resolve(library);
    if (library !== PACKAGE) return undefined;
    const libc = process.platform === 'linux' ? '-gnu' : '';
    const platform = `${PACKAGE}-${process.platform}-${process.arch}${libc}`;
    // Packages for other machines are replaced by a tiny one in the lock.
    const manifest = createRequire(entry)(`${platform}/package.json`) as { readonly name?: string };
    return manifest.name === platform ? undefined : `it has no build for ${process.platform} ${process.arch}`;
  } catch (cause) {
    return reasonOf(cause).split('\n')[0];
  }
}

/** A canvas of so many pixels; `opaque` ones are dearer to make and cheaper to read. */
export function canvasOf(width: number, height: number, opaque: boolean): readonly [Canvas, Context] {
  const canvas = addon().createCanvas(width, height);
  return [canvas, canvas.getContext('2d', { alpha: !opaque })];
}
