import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { folderOf, type PluginRecord } from './records.ts';

/**
 * The plugin of this thread whose frame is the innermost in the stack of what was thrown: who was running, not who called. Frames of the kernel, of
 * plugin-api and of packages stand for whoever called them. An error without such a frame is that of its cause.
 */
export function culpritOf(thrown: unknown, records: readonly PluginRecord[]): PluginRecord | undefined {
  const here = records.filter(({ entry }) => entry.isolation === 'inline');
  const places = here.flatMap((record) => placesOf(folderOf(record.entry)).map((place) => ({ record, place })));
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    for (const frame of framesOf(error)) {
      // Of a folder within a folder the inner one.
      const found = places.filter(({ place }) => frame.includes(place));
      if (found.length > 0) return found.reduce((a, b) => (b.place.length > a.place.length ? b : a)).record;
    }
  }
  return undefined;
}

/** Lines of the stack, innermost first, without the message, which may name any file. */
function framesOf({ stack, name, message }: Error): readonly string[] {
  const text = stack ?? '';
  const head = text.indexOf(message);
  const rest = message !== '' && head >= 0 && head <= name.length + 32 ? text.slice(head + message.length) : text;
  return rest.split('\n').filter((line) => /^\s+at /.test(line));
}

/** A folder as frames name it: plain or as a URL, and by its true name where a link leads to it. */
function placesOf(folder: string): readonly string[] {
  let real = folder;
  try {
    real = `${realpathSync(folder)}/`;
  } catch {
    // It has gone since its code was loaded.
  }
  return [...new Set([folder, real].flatMap((path) => [path, pathToFileURL(path).href]))];
}

/** Where in the files below `folder` it was thrown, for the message: `index.ts:12`. Undefined where no frame is there. */
export function placeIn(thrown: unknown, folder: string): string | undefined {
  const places = placesOf(folder);
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    for (const frame of framesOf(error)) {
      const place = places.find((one) => frame.includes(one));
      if (place === undefined) continue;
      const [, file, line] = /^(.*?):(\d+):\d+\)?$/.exec(frame.slice(frame.indexOf(place) + place.length)) ?? [];
      if (file !== undefined) return `${file}:${line}`;
    }
  }
  return undefined;
}
