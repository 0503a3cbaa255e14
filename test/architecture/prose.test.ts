/** Prose has a noun of the domain as its subject and a finite verb. Budgets of other openings fall with each change. Decision records have one form and an index. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');

interface Budget {
  readonly of: string;
  readonly files: string;
  readonly pattern: RegExp;
  readonly rule: string;
  /** A change that removes some lowers it; none raises it. */
  readonly most: number;
  /** Part of a file that counts; all of it if absent. */
  readonly read?: (text: string) => string;
}

const BUDGETS: readonly Budget[] = [
  {
    of: 'openings of comments',
    files: '{kernel,plugins,plugin-api,systemd}/**/*.ts',
    pattern: /^\s*(\/\*\*|\*|\/\/) (What|Who|Whose|Whom|Of|Whoever|Until|Where) /gm,
    rule: 'a comment begins with a noun of the domain or a verb, not with What, Who, Whose, Of, Until or Where',
    most: 0,
  },
  {
    of: 'titles of tests',
    files: 'test/**/*.test.ts',
    pattern:
      /^\s*(?:describe|it|test)(?:\.\w+)?\(\s*(['"`])(?:(?:What|Who|Whose|Whom) |(?:(?!\1).)*?\b(?:whatever|whoever|nobody|somebody|what is)\b)/gim,
    rule: 'a title has a noun of the domain as its subject, without whatever, whoever, nobody, somebody, what is',
    most: 0,
  },
  {
    of: 'summaries of operations, events and plugins',
    files: '{{kernel,plugins,plugin-api}/**/*.ts,manifests/**/*.yaml}',
    pattern:
      /(?:^summary: |\bsummary: ['"`])(?:What|Who|Whose|Of|Until|Where) |\bsummary: .*\b(?:whatever|whoever|nobody|somebody|is told|of its own)\b/gim,
    rule: 'a summary is a noun phrase or an order, as a command and the page show it',
    most: 0,
  },
  {
    of: 'English words of page and panel',
    files: 'plugins/{interface/web/ui/locales/{,pages/}en.json,display/**/strings.ts,display/*/strings/en.ts}',
    pattern:
      /(?:^|['"`|.!:] ?)(?:What|Who|Whose|Whom|Of|Whoever|Until|Where) (?![^'"`|.!]*\?)|\b(?:[Ww]hatever|[Ww]hoever|[Nn]obody|[Ss]omebody|of its own)\b|\b(?:is|was) told\b/gm,
    rule: 'a label is a noun that a person would search for; a question may begin with What or Who',
    most: 0,
    read: (text) => (text.startsWith('{') ? text : english(text)),
  },
  {
    of: 'sentences of guides',
    files: '{docs/guides/*,docs/{index,architecture,privacy,redaction,images},README,CONTRIBUTING}.md',
    pattern:
      /(?:^|[.!:;|>*] )(?:#+ |[-*] |\d+\. |\| )?\**(?:What|Who|Whose|Whom|Of|Until|Where|Whatever|Whoever) (?![^.!|\n]*\?)|\b(?:[Ww]hatever|[Ww]hoever|[Nn]obody|[Ss]omebody|is told|of its own)\b/gm,
    rule: 'a sentence or heading begins with a noun of the domain or a verb; code and questions do not count',
    most: 0,
    read: unfenced,
  },
];

for (const { of, files, pattern, rule, most, read = String } of BUDGETS)
  test(`${of} keep their budget of ${most}`, () => {
    const counts = globSync(files, { cwd: ROOT })
      .filter((file) => !/node_modules|\/dist\//.test(file))
      .map((file) => [file, read(readFileSync(join(ROOT, file), 'utf8')).match(pattern)?.length ?? 0] as const);
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const worst = counts.toSorted(([, a], [, b]) => b - a).slice(0, 5);
    assert.ok(
      total <= most,
      `${total}, more than ${most}: ${rule}; first ${worst.map((one) => one.join(' ')).join(', ')}`,
    );
  });

describe('decision records have one form and an index', () => {
  const readme = readFileSync(join(ROOT, 'docs/adr/README.md'), 'utf8');
  const index = [...readme.matchAll(/^\| \[(\d{4})\]\((\S+)\) +\| (.+?) +\| (\S+) +\| (.+?) +\| (.*?) +\|$/gm)];
  const files = globSync('docs/adr/[0-9]*.md', { cwd: ROOT }).sort();
  const records = files.map((file) => {
    const text = unlinked(readFileSync(join(ROOT, file), 'utf8'));
    const form = /^# (\d{4})\. (.+)\n\nDate: (\d{4}-\d\d-\d\d)\. Status: ([^:.]+)[.:](.*)\n/.exec(text);
    const [, number = '', title = '', date = '', status = '', rest = ''] = form ?? [];
    return { name: file.slice('docs/adr/'.length), number, title, date, status, rest };
  });

  for (const { name, number, title, status } of records)
    test(name, () => {
      assert.equal(
        number,
        name.slice(0, 4),
        'it begins with "# NNNN. Title" and "Date: YYYY-MM-DD. Status: accepted."',
      );
      assert.match(status, /^(accepted|superseded by \d{4}|accepted; superseded in part by \d{4})$/);
      assert.doesNotMatch(
        title,
        /^(What|Who|Whose|Whom|Of|Whoever|Until|Where) |\b(whatever|whoever|nobody|somebody)\b/i,
      );
    });

  test('the index has number, file, title, date and status of each', () => {
    assert.deepEqual(
      index.map(([, number, name, title, date, status]) => ({ name, number, title, date, status })),
      records.map(({ rest: _, ...record }) => record),
    );
  });

  test('a superseded record and its successor name each other', () => {
    const successors = records.flatMap(({ number, status }) => {
      const by = /superseded (?:in part )?by (\d{4})/.exec(status)?.[1];
      return by ? [`${by} ${number}`] : [];
    });
    const told = index.flatMap(([, number, , , , , earlier = '']) =>
      [...earlier.matchAll(/\[(\d{4})\]/g)].map(([, one]) => `${number} ${one}`),
    );
    assert.deepEqual(told.toSorted(), successors.toSorted());
    for (const pair of successors) {
      const [by, number = ''] = pair.split(' ');
      assert.match(records.find((one) => one.number === by)?.rest ?? '', new RegExp(`Supersedes .*${number}`));
    }
  });

  test('the README names the numbers without a record', () => {
    const tail = readme.split('## Numbers without a record')[1] ?? '';
    const last = Number(records.at(-1)?.number);
    const all = Array.from({ length: last }, (_, at) => String(at + 1).padStart(4, '0'));
    const missing = all.filter((number) => !records.some((one) => one.number === number));
    assert.deepEqual(
      missing.filter((number) => !tail.includes(number)),
      [],
    );
  });
});

/** `[0023](0023-....md)` as `0023`. */
function unlinked(text: string): string {
  return text.replace(/\[(\d{4})\]\([^)]*\)/g, '$1');
}

/** The English part of a catalogue: the lines before `de:`, without code and doc comments. */
function english(text: string): string {
  return (text.split(/^ {2}de: \{$/m)[0] ?? '').replace(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

/** Markdown without blocks of code, code in a line and targets of links. */
function unfenced(text: string): string {
  return text
    .replace(/^( *)(```|~~~)[\s\S]*?^\1\2\s*$/gm, '')
    .replace(/`[^`\n]*`/g, '`x`')
    .replace(/\]\([^)]*\)/g, ']');
}
