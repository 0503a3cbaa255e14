/** Cause of a crash from the last lines of an app: the message of the error, and the place in its own code. Pure. */

export interface CrashLine {
  /** `TypeError: cannot read x (main.js:5)`. It may hold what the app works with: not for others. */
  readonly text: string;
  /** `TypeError at main.js:5`, or as much of it as is known: nothing that the app works with. */
  readonly place?: string;
}

interface Found {
  /** Index of the line with the message. */
  readonly at: number;
  readonly message: string;
  /** Place in a file. */
  readonly frame?: string | undefined;
}

/** `folder` is that of the app: frames below it are its own. Undefined where nothing was written. */
export function crashLine(lines: readonly string[], folder: string): CrashLine | undefined {
  const said = lines.map((line) => line.trimEnd());
  const found = [ofNode(said, folder), ofPython(said, folder), ofPanic(said, folder)]
    .filter((one) => one !== undefined)
    .toSorted((a, b) => b.at - a.at)[0];
  if (!found) {
    const last = said.findLast((line) => line !== '');
    return last === undefined ? undefined : { text: last };
  }
  const { message, frame } = found;
  const type = /^(?:[\w.]*(?:Error|Exception|Interrupt|Exit|panic))\b/.exec(message)?.[0];
  const place = [type, frame && `at ${frame}`].filter(Boolean).join(' ');
  return { text: frame === undefined ? message : `${message} (${frame})`, ...(place !== '' && { place }) };
}

/** `TypeError: x is not a function`, and `    at run (file:///app/main.js:5:9)` below it. The first error of a chain of causes counts. */
function ofNode(lines: readonly string[], folder: string): Found | undefined {
  const isFrame = (line: string) => /^\s+at .*?[(/\s:](?:[^()]*):\d+:\d+\)?(?: \{)?$/.test(line);
  const last = lines.findLastIndex(isFrame);
  if (last < 0) return undefined;
  // From the last frame up to where the last trace began: causes stand below, indented.
  let first = last;
  for (let at = last; at >= 0; at -= 1) {
    const line = lines[at]!;
    if (isFrame(line)) first = at;
    else if (/^\S/.test(line) && !/^[}\]]/.test(line)) break;
  }
  const head = lines.slice(0, first).findLastIndex((line) => /^(?:Uncaught )?[\w.]*(?:Error|Exception)\b/.test(line));
  const at = head >= 0 && first - head <= 8 ? head : first - 1;
  const message = lines[at]?.replace(/^Uncaught /, '').replace(/ \{$/, '');
  if (message === undefined || message.trim() === '') return undefined;
  const frames = lines.slice(first, last + 1).flatMap((line) => {
    const [, file, row] = /(?:\(|at (?:async )?)(?:file:\/\/)?([^()\s]+?):(\d+):\d+\)?/.exec(line) ?? [];
    return file === undefined || row === undefined ? [] : [{ file, row }];
  });
  const own =
    frames.find(({ file }) => isOwn(file, folder)) ?? frames.find(({ file }) => !/^node:|\/node_modules\//.test(file));
  return { at, message: message.trim(), frame: own && frameOf(own.file, own.row, folder) };
}

/** `Traceback (most recent call last):`, frames with the innermost last, then `ValueError: x`. */
function ofPython(lines: readonly string[], folder: string): Found | undefined {
  const head = lines.findLastIndex((line) => line.startsWith('Traceback (most recent call last)'));
  if (head < 0) return undefined;
  const at = lines.findIndex((line, index) => index > head && /^[A-Za-z_][\w.]*(?::|$)/.test(line));
  const message = lines[at];
  if (message === undefined) return undefined;
  const frames = lines.slice(head, at).flatMap((line) => {
    const [, file, row] = /^\s+File "([^"]+)", line (\d+)/.exec(line) ?? [];
    return file === undefined || row === undefined ? [] : [{ file, row }];
  });
  const own = frames.findLast(({ file }) => isOwn(file, folder)) ?? frames.at(-1);
  return { at, message, frame: own && frameOf(own.file, own.row, folder) };
}

/** `thread 'main' panicked at src/main.rs:2:5:` and the message below it (Rust), `panic: x` and frames below it (Go). */
function ofPanic(lines: readonly string[], folder: string): Found | undefined {
  const rust = lines.findLastIndex((line) => /^thread '.*' panicked at /.test(line));
  if (rust >= 0) {
    const [, file = '', row = ''] = /panicked at (?:'.*', )?([^\s:]+):(\d+)/.exec(lines[rust]!) ?? [];
    const [, quoted] = /panicked at '(.*)', /.exec(lines[rust]!) ?? [];
    return { at: rust, message: `panic: ${quoted ?? lines[rust + 1] ?? ''}`, frame: frameOf(file, row, folder) };
  }
  const go = lines.findLastIndex((line) => /^(?:panic|fatal error): /.test(line));
  if (go < 0) return undefined;
  const frames = lines.slice(go).flatMap((line) => {
    const [, file, row] = /^\t(\S+\.go):(\d+)/.exec(line) ?? [];
    return file === undefined || row === undefined ? [] : [{ file, row }];
  });
  const own =
    frames.find(({ file }) => isOwn(file, folder)) ?? frames.find(({ file }) => !file.includes('/src/runtime/'));
  return { at: go, message: lines[go]!, frame: own && frameOf(own.file, own.row, folder) };
}

function isOwn(file: string, folder: string): boolean {
  if (/\/(?:node_modules|site-packages|dist-packages)\//.test(file)) return false;
  return file.startsWith(`${folder}/`) || (!file.startsWith('/') && !/^node:|^</.test(file));
}

function frameOf(file: string, row: string, folder: string): string {
  return `${file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : file}:${row}`;
}
