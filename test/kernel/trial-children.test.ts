/** What the trial of the walls leaves behind: nothing that somebody has to bury. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bubblewrap } from '../../kernel/walls/makers.ts';
import { childrenOf, readProcess } from '../../kernel/walls/process-table.ts';
import { becomeSubreaper } from '../../kernel/walls/subreaper.ts';
import { findTool } from '../../kernel/walls/tools.ts';
import { pace } from '../fixtures/eventually.ts';

const there = (await findTool('bwrap')) !== undefined;

test('the trial of bubblewrap leaves no dead process to the Core', {
  skip: there ? false : 'needs bubblewrap',
}, async () => {
  assert.equal((await becomeSubreaper()).failure, undefined);
  const before = new Set(childrenOf(process.pid));
  const trial = await bubblewrap(process.geteuid?.() === 0);
  assert.equal('failure' in trial ? trial.failure : trial.by, 'bubblewrap');
  // What bubblewrap leaves to others when it ends comes to us within a moment.
  for (let look = 0; look < 30; look++) {
    const left = childrenOf(process.pid).filter((pid) => !before.has(pid));
    assert.deepEqual(
      left.map((pid) => readProcess(pid)?.state),
      [],
    );
    await pace(10);
  }
});
