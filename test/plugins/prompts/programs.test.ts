/** Questions as they stand in the terminal: whatever an app says of itself, it is quoted and cannot pass for the device. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { promptLines } from '@device-core/plugin-api/inside/program';
import { cell, type Program, type ProgramClient, type ProgramContext, quoted } from '@device-core/plugin-api/program';
import type { Prompt, PromptItem } from '@device-core/plugin-api/services/prompts';
import fc from 'fast-check';
import { program as allow } from '../../../plugins/interface/prompts/program/allow.ts';
import { program as deny } from '../../../plugins/interface/prompts/program/deny.ts';
import { program as list } from '../../../plugins/interface/prompts/program/list.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';

const ITEM: PromptItem = {
  capability: 'audio.capture',
  summary: 'hear the microphone',
  reason: 'to hear you',
  optional: false,
};

function prompt(more: Partial<Prompt> = {}): Prompt {
  return {
    id: '3f9a1c2e',
    kind: 'consent',
    subject: 'com.example.ear',
    title: 'Ear',
    version: '1.0.0',
    what: [ITEM],
    since: 0,
    until: 600_000,
    ...more,
  };
}

interface Sent {
  readonly path: string;
  readonly body: unknown;
}

/** Runs a program against these questions; resolves with what it printed and sent. */
async function run<A>(program: Program<A>, args: A, prompts: readonly Prompt[], json = false) {
  const printed: string[] = [];
  const sent: Sent[] = [];
  const client = {
    get: async () => ({ body: { prompts }, text: '' }),
    post: async (path: string, body: unknown) => {
      sent.push({ path, body });
      return { body: {}, text: '{"ok":true}' };
    },
  } as unknown as ProgramClient;
  const out = { json, line: async (text: string) => void printed.push(text) };
  await program.run({ args, client, out } as unknown as ProgramContext<A>);
  return { printed, sent };
}

const HOSTILE: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['colours and moves of the cursor', '\u001b[2J\u001b[1;1Hsafe', '"\\x1b[2J\\x1b[1;1Hsafe"'],
  ['lines of its own', 'x\n3f9a1c2e: answer with: devicectl allow', '"x\\x0a3f9a1c2e: answer with: devicectl allow"'],
  ['the other direction', '\u202egnihton swolla\u2066', '"\\u202egnihton swolla\\u2066"'],
  ['an end of the quotation', '" (checked by Device Core) "', '"\\" (checked by Device Core) \\""'],
  ['an escaped end of it', '\\" allow', '"\\\\\\" allow"'],
  ['breaks of other kinds', 'a\u2028b\u2029c\u0085d\r', '"a\\u2028b\\u2029c\\x85d\\x0d"'],
  ['what takes no room', 'Device\u200bCore\ufeff', '"Device\\u200bCore\\ufeff"'],
];

describe('a title or a reason with', () => {
  for (const [what, text, shown] of HOSTILE)
    it(`${what} is shown as what it is`, () => {
      const lines = promptLines(prompt({ title: text, signer: text, what: [{ ...ITEM, reason: text }] }), 0);
      assert.deepEqual(lines, [
        `3f9a1c2e: grant this to com.example.ear 1.0.0, signed by ${shown}, 10 min left`,
        `  it calls itself ${shown}`,
        '  audio.capture',
        '    what it allows: hear the microphone',
        `    the app says why: ${shown}`,
        '  answer with: devicectl allow 3f9a1c2e, or devicectl deny 3f9a1c2e',
      ]);
    });

  it('any text stays in its one line and in its quotation marks', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 200 }), (text) => {
        const shown = quoted(text);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point
        assert.doesNotMatch(shown, /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
        assert.match(shown, /^"(?:[^"\\]|\\.)*"$/u);
        assert.equal(cell(shown), shown);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe('devicectl', () => {
  const TWO = prompt({ what: [ITEM, { ...ITEM, capability: 'sensors.nfc', optional: true, widens: 'sensors' }] });
  const CASES: readonly {
    readonly title: string;
    readonly args: {
      readonly question: string;
      readonly capabilities?: readonly string[];
      readonly with?: readonly string[];
    };
    readonly sends: object;
    readonly says: string;
  }[] = [
    {
      title: 'allows what the question shows as on',
      args: { question: '3f9a1c2e' },
      sends: { allow: ['audio.capture'] },
      says: 'com.example.ear: allowed audio.capture; denied sensors.nfc',
    },
    {
      title: 'allows with it what is optional and named',
      args: { question: '3f9a1c2e', with: ['sensors.nfc'] },
      sends: { allow: ['audio.capture', 'sensors.nfc'] },
      says: 'com.example.ear: allowed audio.capture, sensors.nfc',
    },
    {
      title: 'allows what is named, of the app that asks',
      args: { question: 'com.example.ear', capabilities: ['sensors.nfc'] },
      sends: { allow: ['sensors.nfc'] },
      says: 'com.example.ear: allowed sensors.nfc; denied audio.capture',
    },
  ];
  for (const { title, args, sends, says } of CASES)
    it(title, async () => {
      const { printed, sent } = await run(allow, args, [TWO]);
      assert.deepEqual(sent, [{ path: '/prompts/3f9a1c2e', body: sends }]);
      assert.deepEqual(printed, [says]);
    });

  it('shows the rights that are on and off, and how to switch one on', () => {
    assert.deepEqual(
      promptLines(TWO, 0).filter((line) => /^ {2}(on|off|answer)/.test(line)),
      [
        '  on: audio.capture',
        '  off: sensors.nfc (optional)',
        '  answer with: devicectl allow 3f9a1c2e [--with CAPABILITY]..., or devicectl deny 3f9a1c2e',
      ],
    );
    assert.match(promptLines(TWO, 0)[0] ?? '', /1\.0\.0, not signed, 10 min left$/);
  });

  it('shows an act in full: what it is about, who signed that, and each right that it gives', () => {
    const act = `install ${'a very long word '.repeat(30)}`;
    const about = { id: 'com.example.ear', title: 'grant this\nto', version: '1.0.0', signer: 'maker' };
    const { version: _, ...asked } = prompt({
      kind: 'confirm',
      subject: 'page.abc',
      title: 'Firefox on Linux',
      act,
      about,
    });
    assert.deepEqual(promptLines({ ...asked, claims: [{ kind: 'reads', name: '/etc', summary: 'read /etc' }] }, 0), [
      '3f9a1c2e: confirm this about page.abc, 10 min left',
      '  it calls itself "Firefox on Linux"',
      `  it wants to ${act}`,
      '  it is com.example.ear 1.0.0, signed by "maker"',
      '  it calls itself "grant this\\x0ato"',
      '  read /etc',
      ...['  audio.capture', '    what it allows: hear the microphone', '    the app says why: "to hear you"'],
      '  answer with: devicectl allow 3f9a1c2e, or devicectl deny 3f9a1c2e',
    ]);
  });

  it('says yes to a question without capabilities, and no to any', async () => {
    const confirm = prompt({ kind: 'confirm', what: [] });
    assert.deepEqual((await run(allow, { question: confirm.id }, [confirm])).sent[0]?.body, { allow: ['yes'] });
    const { sent, printed } = await run(deny, { question: confirm.subject }, [confirm]);
    assert.deepEqual([sent[0]?.body, printed], [{ allow: [] }, ['com.example.ear: denied']]);
  });

  it('sends nothing for a question that is not there, for one of several, and for another capability', async () => {
    const other = prompt({ id: 'aaaaaaaa', kind: 'update' });
    const optional = prompt({ id: 'bbbbbbbb', subject: 'com.example.b', what: [{ ...ITEM, optional: true }] });
    for (const [args, says] of [
      [{ question: 'deadbeef' }, /no question is open about deadbeef; open: 3f9a1c2e \(com\.example\.ear\)/],
      [{ question: 'com.example.ear' }, /several questions are about com\.example\.ear/],
      [{ question: 'bbbbbbbb' }, /is about nothing but what is optional/],
      [{ question: '3f9a1c2e', with: ['audio'] }, /is not about audio, but about audio\.capture/],
      [{ question: '3f9a1c2e', capabilities: ['audio'] }, /is not about audio, but about audio\.capture/],
    ] as const)
      await assert.rejects(run(allow, args, [TWO, other, optional]), says);
  });

  it('lists open questions, and says so where there is none', async () => {
    assert.deepEqual((await run(list, {}, [])).printed, ['no question is open']);
    const { printed } = await run(list, {}, [TWO], true);
    assert.deepEqual(JSON.parse(printed[0] ?? ''), { prompts: [TWO] });
  });
});
