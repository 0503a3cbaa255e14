/** Fenced blocks of a Markdown file that a test runs. */
export type DocBlock =
  | { readonly kind: 'file'; readonly line: number; readonly path: string; readonly text: string }
  /** ` ```ts shows=path `: lines that stand in a file which a command wrote. */
  | { readonly kind: 'shows'; readonly line: number; readonly path: string; readonly text: string }
  /** ` ```sh start `: a command that starts a Core and goes on running. */
  | { readonly kind: 'start'; readonly line: number; readonly command: string }
  /** ` ```sh run `: a command, and the ` ```text ` or ` ```json ` block right after it as what it prints. */
  | { readonly kind: 'run'; readonly line: number; readonly command: string; readonly expected?: Expected };

export interface Expected {
  readonly language: 'text' | 'json';
  readonly text: string;
}

interface Fence {
  readonly line: number;
  readonly language: string;
  readonly words: readonly string[];
  readonly text: string;
}

/** The blocks in order. */
export function docBlocks(markdown: string): readonly DocBlock[] {
  const fences = readFences(markdown);
  return fences.flatMap((fence, index): DocBlock[] => {
    const { line, language, words, text } = fence;
    const file = words.find((word) => word.startsWith('file='));
    if (file) return [{ kind: 'file', line, path: file.slice('file='.length), text }];
    const shows = words.find((word) => word.startsWith('shows='));
    if (shows) return [{ kind: 'shows', line, path: shows.slice('shows='.length), text }];
    if (language !== 'sh') return [];
    if (words.includes('start')) return [{ kind: 'start', line, command: text }];
    if (!words.includes('run')) return [];
    const next = fences[index + 1];
    const printed =
      next?.words.length === 0 && (next.language === 'text' || next.language === 'json') ? next : undefined;
    return [
      {
        kind: 'run',
        line,
        command: text,
        ...(printed && { expected: { language: printed.language as 'text' | 'json', text: printed.text } }),
      },
    ];
  });
}

function readFences(markdown: string): readonly Fence[] {
  const fences: Fence[] = [];
  let open: { line: number; info: string; text: string[] } | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (!line.startsWith('```')) open?.text.push(line);
    else if (open) {
      const [language = '', ...words] = open.info.split(/\s+/).filter((word) => word !== '');
      fences.push({ line: open.line, language, words, text: `${open.text.join('\n')}\n` });
      open = undefined;
    } else open = { line: index + 1, info: line.slice(3).trim(), text: [] };
  }
  return fences;
}

/** Does the output hold what the document prints? Text: line by line, `...` stands for anything. JSON: every member that is shown. */
export function agrees(expected: Expected, printed: string): boolean {
  if (expected.language === 'json') return covers(JSON.parse(expected.text), JSON.parse(printed));
  const pattern = expected.text
    .trim()
    .split('\n')
    .map((line) => line.trimEnd().split('...').map(literal).join('.*'))
    .map((line) => (line === '.*' ? '[\\s\\S]*' : line))
    .join('\\n');
  return new RegExp(`^${pattern}$`).test(printed.trim().replace(/[ \t]+$/gm, ''));
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function covers(shown: unknown, real: unknown): boolean {
  if (shown === '...') return true;
  if (typeof shown !== 'object' || shown === null) return shown === real;
  if (typeof real !== 'object' || real === null) return false;
  if (Array.isArray(shown)) return Array.isArray(real) && shown.every((item, index) => covers(item, real[index]));
  return Object.entries(shown).every(([key, value]) => covers(value, (real as Record<string, unknown>)[key]));
}
