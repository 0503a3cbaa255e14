/** Costs processes: one is killed in each round. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { suite, test } from 'node:test';
import { config } from '@device-core/plugin-api/services/config';
import { runs } from '../../fixtures/runs.ts';
import { start } from './start.ts';

const ROUNDS = runs(12);

interface Acknowledged {
  readonly app: string | null;
  readonly key: string;
  readonly number: number;
}

/** Runs the writer and kills it a random moment after its first write, however long that took. Resolves with what it acknowledged. */
async function writeAndKill(root: string, first: number, afterMs: number): Promise<readonly Acknowledged[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crash-writer.ts'), root, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.endsWith('}')) continue;
    if (acknowledged.length === 0) setTimeout(() => child.kill('SIGKILL'), afterMs);
    acknowledged.push(JSON.parse(line));
  }
  return acknowledged;
}

suite('a Core that is killed while it writes', () => {
  test('kill -9 at any moment loses no acknowledged write and leaves no file corrupt', async () => {
    const root = await mkdtemp(join(tmpdir(), 'dc-crash-'));
    try {
      const latest = new Map<string, Acknowledged>();
      let next = 1;
      let total = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const acknowledged = await writeAndKill(root, next, Math.random() * 120);
        total += acknowledged.length;
        for (const write of acknowledged) latest.set(`${write.app}/${write.key}`, write);
        next += acknowledged.length + 1;

        await using survivor = await start({ root });
        const { components, warnings } = await survivor.health();
        assert.equal(components.config?.status, 'okay', components.config?.message);
        assert.deepEqual(warnings, []);
        for (const { app, key, number } of latest.values()) {
          const entry = await survivor.host.service(config).get(app ? { app } : {}, key);
          const found = (entry.value as { number: number }).number;
          // The write in flight at the kill may have reached the disk without being acknowledged.
          assert.ok(found === number || found === next - 1, `${key} holds ${found}, ${number} was acknowledged`);
          assert.equal(entry.setBy, `n${found}`, `${key} has lost its author`);
          if (found !== number) latest.set(`${app}/${key}`, { app, key, number: found });
        }
      }
      assert.ok(total >= ROUNDS, `only ${total} writes were acknowledged in all`);
      const left = await readdir(join(root, 'var'));
      assert.deepEqual(
        left.filter((name) => name.includes('corrupt')),
        [],
      );
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});
