import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { PAGE, worked } from './worked-trace.ts';

const VECTORS: readonly { readonly hex: string }[] = JSON.parse(
  readFileSync(new URL('../fixtures/cbp-vectors.json', import.meta.url), 'utf8'),
);

describe('the pages of the protocol', () => {
  it('the worked trace is what host and bridge say', async () => {
    assert.equal(readFileSync(PAGE, 'utf8'), await worked(), 'run node test/conformance/worked-trace.ts');
  });

  it('the test vectors of the page are those that the codecs are tested with', () => {
    const page = readFileSync(new URL('../../docs/cbp.md', import.meta.url), 'utf8');
    // Four of them are told as a change of another.
    const shown = VECTORS.filter(({ hex }) => page.includes(`\`${hex.replace(/(00)+$/, '')}`));
    assert.ok(shown.length >= 12, `${shown.length} vectors are on the page`);
  });
});
