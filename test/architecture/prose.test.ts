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
}

const BUDGETS: readonly Budget[] = [
  {
    of: 'openings of comments',
    files: '{kernel,plugins,plugin-api,systemd}/**/*.ts',
    pattern: /^\s*(\/\*\*|\*|\/\/) (What|Who|Whose|Whom|Of|Whoever|Until|Where) /gm,
    rule: 'a comment begins with a noun of the domain or a verb, not with What, Who, Whose, Of, Until or Where',
    most: 68,
  },
  {
    of: 'titles of tests',
    files: 'test/**/*.test.ts',
    pattern: /^\s*(?:describe|it|test)\((['`]).*?\b(?:whatever|whoever|nobody|somebody|what is)\b.*?\1/gim,
    rule: 'a title says who and what by the nouns of the domain, without whatever, whoever, nobody, somebody, what is',
    most: 421,
  },
];

for (const { of, files, pattern, rule, most } of BUDGETS)
  test(`${of} keep their budget of ${most}`, () => {
    const counts = globSync(files, { cwd: ROOT })
      .filter((file) => !/node_modules|\/dist\//.test(file))
      .map((file) => [file, readFileSync(join(ROOT, file), 'utf8').match(pattern)?.length ?? 0] as const);
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
