import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redactText } from '@device-core/plugin-api/inside/redact';
import { StreamRedaction } from '@device-core/plugin-api/inside/redact-stream';
import fc from 'fast-check';

const CANARY = 'CNRY7f3a9d81';
const H = '[redacted]';
const body = Array.from({ length: 20 }, (_, row) => `${CANARY}${row}abcdefghijklmnopqrstuvwxyz`);

/** Lines of one secret each; none of the canaries may be seen, wherever the text is cut. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'a key in PEM': ['-----BEGIN RSA PRIVATE KEY-----', ...body, '-----END RSA PRIVATE KEY-----'],
  'a key in PEM with headers': [
    '-----BEGIN RSA PRIVATE KEY-----',
    'Proc-Type: 4,ENCRYPTED',
    'DEK-Info: AES-128-CBC,00FF',
    '',
    ...body,
    '-----END RSA PRIVATE KEY-----',
  ],
  'a key of PGP': ['-----BEGIN PGP PRIVATE KEY BLOCK-----', '', ...body, '-----END PGP PRIVATE KEY BLOCK-----'],
  'a block of YAML': ['password: |', ...body.map((line) => `  ${line}`)],
  'a folded block with an empty line': ['  api_key: >-', `    ${CANARY}`, '', `    ${CANARY}`],
  'a key in a block': ['private_key: |', '  -----BEGIN PRIVATE KEY-----', ...body.map((line) => `  ${line}`)],
  'a map below the name': ['credentials:', `  user: ${CANARY}`, `  text: ${CANARY}`],
  'a list below the name': ['tokens:', `- ${CANARY}`, `- ${CANARY}`],
  'a bracket over lines': ['"credentials": {', `  "user": "${CANARY}",`, `  "more": ["${CANARY}"]`, '}'],
  'a name in quotes above its value': ['"password":', `"${CANARY}"`],
  'a quote over lines': ['password="first', CANARY, `${CANARY}"`],
  'an apostrophe over lines': ["export TOKEN='first", CANARY, `${CANARY}'`],
  'a text of Python': ['token = """first', `a "word" ${CANARY}`, `${CANARY}"""`],
  'a header that is folded': ['Cookie: a=b;', ` c=${CANARY};`, ` d=${CANARY}`],
};
/** The next quote of a text would end it, so it stands last. */
const WITHOUT_END = ['secret: "first', CANARY, CANARY];
const ORDINARY = ['listening on port 8080', '  at run (file.js:3:1)', '{"level":30,"msg":"fine"}', ''];

/** Parts of whole lines. */
function inParts(lines: readonly string[], cuts: readonly boolean[], end = '\n'): string[] {
  const parts = [''];
  for (const [index, line] of lines.entries()) {
    parts[parts.length - 1] += line + end;
    if (cuts[index % cuts.length] && index < lines.length - 1) parts.push('');
  }
  return parts;
}

const redacted = (parts: readonly string[]): string => {
  const stream = new StreamRedaction();
  return parts.map((part) => stream.text(part)).join('');
};

describe('redaction of a text that comes in parts', () => {
  for (const [what, lines] of Object.entries(SECRETS))
    it(`hides ${what} that comes line by line, and shows the next line`, () => {
      const parts = [...lines, 'the next line'].map((line) => `${line}\r\n`);
      const left = redacted(parts);
      assert.ok(!left.includes('7f3a9d81'), left);
      assert.equal(left.split('\r\n').length, parts.length + 1);
      assert.match(left, /\nthe next line\r\n$/);
    });

  it('hides the same secrets for any cut into reads and entries', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...Object.values(SECRETS), ORDINARY), { minLength: 1, maxLength: 4 }),
        fc.constantFrom([], WITHOUT_END),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 16 }),
        fc.constantFrom('\n', '\r\n'),
        (texts, last, cuts, end) => {
          const parts = inParts([...texts.flat(), ...last], cuts, end);
          const left = redacted(parts);
          assert.ok(!left.includes('7f3a9d81'), `${JSON.stringify(parts)}\n${left}`);
          // Entries of a journal have no end of a line.
          const entries = redacted(parts.map((part) => part.slice(0, -end.length)));
          assert.ok(!entries.includes('7f3a9d81'), `${JSON.stringify(parts)}\n${entries}`);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('leaves a text without an open secret as the redaction of one text does', () => {
    const lines = [...ORDINARY, 'token: expired', `password=${CANARY}`, 'password:', 'Cookie: a=b', '    at run', 'x'];
    assert.equal(redacted(lines.map((line) => `${line}\n`)), lines.map((line) => `${redactText(line)}\n`).join(''));
  });

  const BOUNDS: readonly (readonly [what: string, lines: readonly string[], hidden: number])[] = [
    ['64 lines', Array(100).fill('x'), 64],
    ['16 KiB', Array(40).fill('x'.repeat(1_023)), 16],
  ];
  for (const [what, lines, hidden] of BOUNDS)
    it(`shows the lines behind ${what} of a secret that has no end`, () => {
      for (const cuts of [[true], [false], [true, false, false]]) {
        const left = redacted(inParts(['token="first', ...lines], cuts))
          .split('\n')
          .slice(1, -1);
        assert.deepEqual(left, [...Array(hidden).fill(H), ...lines.slice(hidden)]);
      }
    });

  it('takes a time in proportion to the text, with any openings in it', () => {
    for (const line of [
      'token="\n',
      "token='x\n\\'\n",
      'token:\n x\ny\n',
      '-----BEGIN PRIVATE KEY-----\n',
      'auth: {\n',
    ]) {
      const before = process.cpuUsage();
      redacted(Array(2).fill(line.repeat((64 << 10) / line.length)));
      const { user } = process.cpuUsage(before);
      assert.ok(user < 500_000, `${JSON.stringify(line)} took ${user} us`);
    }
  });
});
