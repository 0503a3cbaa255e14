import { existsSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Returns owner and place (`index.ts:12`) of the innermost stack frame in one of the folders. The running code is blamed, not its caller:
 * frames outside of the folders are skipped. An error without a frame in them is looked up by its cause.
 */
export function originOf<T>(thrown: unknown, folders: readonly (readonly [owner: T, folder: string])[]) {
  const places = folders.flatMap(([owner, folder]) => namesOf(folder).map((name) => ({ owner, name })));
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    for (const frame of framesOf(error)) {
      // The inner one of nested folders owns the frame.
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
  // A folder that was removed since its code was loaded has no real path.
  const real = existsSync(folder) ? `${realpathSync(folder)}/` : folder;
  return [...new Set([folder, real].flatMap((path) => [path, pathToFileURL(path).href]))];
}
