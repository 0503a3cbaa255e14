/** What goes over the wire, decoded for who watches; and nothing at all for nobody. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StreamChannel } from '@device-core/plugin-api/services/operations';
import { traceStream } from '../../../plugins/hardware/cbp/bridge-operations.ts';
import type { Traced } from '../../../plugins/hardware/cbp/trace.ts';
import { Lab } from '../../fixtures/bridge-lab.ts';
import { eventually } from '../../fixtures/eventually.ts';

const said = ({ direction, frame, endpoint = '', op = '', status = '' }: Traced): string =>
  [direction, frame, endpoint, op, status].filter((one) => one !== '').join(' ');

describe('the trace of the bridge', () => {
  it('names endpoints, operations and outcomes, both ways', async () => {
    await using lab = new Lab();
    await lab.up();
    await lab.run(lab.io.gpioConfigure('gpio0', { line: 8, direction: 'in', edge: 'both' }));
    const told: Traced[] = [];
    using _watch = lab.host.trace.add((traced) => told.push(traced));
    await lab.run(lab.io.gpioWrite('gpio0', 1, 1));
    await lab.clock.advance(5);
    const lines = told.map(said);
    assert.ok(lines.includes('out REQ gpio0 WRITE'), lines.join('; '));
    assert.ok(lines.includes('in RSP gpio0 OK'), lines.join('; '));
    const request = told.find(({ op }) => op === 'WRITE');
    const answer = told.find(({ status }) => status === 'OK');
    assert.equal(request?.rid, answer?.rid);
    assert.match(request?.body ?? '', /^[0-9a-f]{2,48}$/);
  });

  it('tells packets that were none, with the check that failed', async () => {
    await using lab = new Lab();
    await lab.up();
    const told: Traced[] = [];
    using _watch = lab.host.trace.add((traced) => told.push(traced));
    lab.wire.silence(0.15);
    await lab.run(lab.io.gpioRead('gpio0', 1));
    assert.deepEqual(
      told.filter(({ frame }) => frame === 'BAD').map(({ reason }) => reason),
      ['magic'],
    );
  });

  it('costs nothing without a watcher: no packet is opened for it', async () => {
    await using lab = new Lab();
    await lab.up();
    let decoded = 0;
    const { trace } = lab.host;
    const tell = trace.tell.bind(trace);
    trace.tell = (direction, bytes) => {
      decoded++;
      tell(direction, bytes);
    };
    await lab.run(lab.io.gpioRead('gpio0', 1));
    assert.equal(decoded, 0);
    const watch = trace.add(() => undefined);
    await lab.run(lab.io.gpioRead('gpio0', 1));
    const seen = decoded;
    assert.ok(seen > 0);
    watch[Symbol.dispose]();
    await lab.run(lab.io.gpioRead('gpio0', 1));
    assert.equal(decoded, seen);
  });

  it('a reader who never reads holds the link up in nothing, and hears how much was dropped', async () => {
    await using lab = new Lab();
    await lab.up();
    const over = new AbortController();
    const lines: (Traced & { lost: number })[] = [];
    let open = Promise.withResolvers<void>();
    const channel: StreamChannel = {
      id: '1',
      signal: over.signal,
      incoming: (async function* () {
        // It says nothing.
      })(),
      send: async (chunk) => {
        await open.promise;
        lines.push(JSON.parse(Buffer.from(chunk).toString()));
      },
    };
    const call = {} as never;
    const running = traceStream(lab.host.trace).run({ endpoint: 'gpio0' } as never, channel, call);
    for (let count = 0; count < 400; count++) await lab.run(lab.io.gpioRead('gpio0', 1));
    open.resolve();
    await eventually(() => lines.length >= 512, 'what was kept');
    const before = lines.length;
    await lab.run(lab.io.gpioRead('gpio0', 1));
    await eventually(() => lines.length > before, 'what came afterwards');
    const lost = lines.reduce((sum, one) => sum + one.lost, 0);
    assert.ok(lost > 0 && lines.length + lost >= 800, `${lines.length} and ${lost} lost`);
    assert.ok(lines.every(({ endpoint }) => endpoint === 'gpio0'));
    open = Promise.withResolvers();
    over.abort();
    await running;
    assert.equal(lab.host.trace.on, false);
  });
});
