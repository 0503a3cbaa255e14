import { existsSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Where an error comes from: of the innermost frame in one of the folders its owner and its place, `index.ts:12`. That is who was running, not who
 * called: frames of others stand for whoever called them. An error without such a frame is that of its cause.
 */
export function originOf<T>(thrown: unknown, folders: readonly (readonly [owner: T, folder: string])[]) {
  const places = folders.flatMap(([owner, folder]) => namesOf(folder).map((name) => ({ owner, name })));
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    for (const frame of framesOf(error)) {
      // Of a folder within a folder the inner one.
      const [found] = places.filter(({ name }) => frame.includes(name)).sort((a, b) => b.name.length - a.name.length);
      const rest = found && frame.slice(frame.indexOf(found.name) + found.name.length);
      if (found) return { owner: found.owner, place: /^.*?:\d+/.exec(rest ?? '')?.[0] };
    }
  }
  return undefined;
}

/** Lines of the stack, innermost first, without the message, which may name any file. */
function framesOf({ stack = '', name, message }: Error): readonly string[] {
  const head = stack.indexOf(message);
  const rest = head >= 0 && head <= name.length + 32 ? stack.slice(head + message.length) : stack;
  return rest.split('\n').filter((line) => /^\s+at /.test(line));
}

/** A folder as frames name it: plain or as a URL, and by its true name where a link leads to it. */
function namesOf(folder: string): readonly string[] {
  // Where it has gone since its code was loaded there is no true name.
  const real = existsSync(folder) ? `${realpathSync(folder)}/` : folder;
  return [...new Set([folder, real].flatMap((path) => [path, pathToFileURL(path).href]))];
}
