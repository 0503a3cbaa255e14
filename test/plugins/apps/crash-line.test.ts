import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { crashLine } from '../../../plugins/apps/apps/crash-line.ts';
import { runs } from '../../fixtures/runs.ts';

const FOLDER = '/opt/apps/hello';

const OUTPUTS: readonly (readonly [what: string, output: string, text: string, place?: string])[] = [
  [
    'an error of Node that nobody caught',
    `${FOLDER}/main.js:7
    throw new TypeError('cannot read the oven');
    ^

TypeError: cannot read the oven
    at open (file://${FOLDER}/lib/oven.js:7:11)
    at ModuleJob.run (node:internal/modules/esm/module_job:343:25)
    at async file://${FOLDER}/main.js:2:1

Node.js v24.11.0`,
    'TypeError: cannot read the oven (lib/oven.js:7)',
    'TypeError at lib/oven.js:7',
  ],
  [
    'an error inside of a package, called by its own code',
    `Error [ERR_ODD]: it is odd
    at check (${FOLDER}/node_modules/odd/index.js:1:7)
    at Object.<anonymous> (${FOLDER}/main.js:3:1)
    at node:internal/main/run_main_module:36:49 {
  code: 'ERR_ODD'
}

Node.js v24.11.0`,
    'Error [ERR_ODD]: it is odd (main.js:3)',
    'Error at main.js:3',
  ],
  [
    'an error with a cause',
    `Error: cannot start
    at start (file://${FOLDER}/main.js:9:9) {
  [cause]: Error: connect ENOENT /x
      at connect (file://${FOLDER}/net.js:1:1)
      at node:net:1:1
}

Node.js v24.11.0`,
    'Error: cannot start (main.js:9)',
    'Error at main.js:9',
  ],
  [
    'a traceback of Python',
    `starting
Traceback (most recent call last):
  File "${FOLDER}/main.py", line 12, in <module>
    main()
  File "${FOLDER}/oven.py", line 4, in main
    requests.get(url)
  File "/usr/lib/python3/dist-packages/requests/api.py", line 75, in get
    return request()
ConnectionError: nobody is there`,
    'ConnectionError: nobody is there (oven.py:4)',
    'ConnectionError at oven.py:4',
  ],
  [
    'the last of two tracebacks',
    `Traceback (most recent call last):
  File "${FOLDER}/main.py", line 2, in <module>
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "${FOLDER}/main.py", line 4, in <module>
    raise ValueError("no oven")
ValueError: no oven`,
    'ValueError: no oven (main.py:4)',
    'ValueError at main.py:4',
  ],
  [
    'a panic of Rust',
    `thread 'main' panicked at src/main.rs:2:5:
the oven is gone
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    'panic: the oven is gone (src/main.rs:2)',
    'panic at src/main.rs:2',
  ],
  [
    'a panic of Go',
    `panic: the oven is gone

goroutine 1 [running]:
main.main()
\t${FOLDER}/main.go:5 +0x2c
exit status 2`,
    'panic: the oven is gone (main.go:5)',
    'panic at main.go:5',
  ],
  ['words alone', 'starting\nthe oven is on fire\n\n', 'the oven is on fire'],
];

describe('the line that says why an app crashed', () => {
  for (const [what, output, text, place] of OUTPUTS)
    it(`is found in ${what}`, () => {
      const found = crashLine(output.split('\n'), FOLDER);
      assert.deepEqual(found, { text, ...(place === undefined ? {} : { place }) });
    });

  it('is absent where nothing was written', () => {
    assert.equal(crashLine([], FOLDER), undefined);
    assert.equal(crashLine(['', '  '], FOLDER), undefined);
  });

  it('is one of the lines, or of their parts, for any output of an app', () => {
    const line = fc.oneof(fc.string(), fc.constantFrom(...OUTPUTS.flatMap(([, output]) => output.split('\n'))));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        const found = crashLine(lines, FOLDER);
        if (found === undefined) assert.ok(lines.every((one) => one.trim() === ''));
        else assert.equal(typeof found.text, 'string');
      }),
      { numRuns: runs(2_000) },
    );
  });
});
