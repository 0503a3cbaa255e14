/** What the bridge has: read with ENUM and NAME each time a session opens, found by label. */
import { crc32 } from 'node:zlib';
import type { Endpoint } from '@device-core/plugin-api';
import type { Channel } from './channel.ts';
import { DESCRIPTOR_LENGTH, type Descriptor, readDescriptors } from './descriptor.ts';
import { ProtocolError } from './protocol-error.ts';
import { STATUS, statusName } from './status.ts';
import { SYS } from './sys.ts';

const DEADLINE_MS = 1_000;
const NAME_LIMIT = 64;

export interface EndpointRow {
  readonly descriptor: Descriptor;
  readonly name: string;
}

/** Reads the table. Rejects with ProtocolError when the answers make no sense or the session ends meanwhile. */
export async function readTable(sys: Channel, count: number, tableCrc: number): Promise<readonly EndpointRow[]> {
  const bytes = await ask(sys, SYS.ENUM, [0], count * DESCRIPTOR_LENGTH);
  const descriptors = readDescriptors(bytes);
  if (!descriptors) throw new ProtocolError('the endpoint table is not one');
  if (tableCrc !== 0 && crc32(bytes) !== tableCrc)
    throw new ProtocolError('the endpoint table is not the one announced');
  const names = await Promise.all(descriptors.map(({ ep }) => ask(sys, SYS.NAME, [ep], NAME_LIMIT)));
  const rows = descriptors.map((descriptor, index) => ({
    descriptor,
    name: Buffer.from(names[index]!).toString('utf8'),
  }));
  if (new Set(rows.map(({ name }) => name)).size !== rows.length)
    throw new ProtocolError('two endpoints have one name');
  return rows;
}

/** What a row is to the rest of the device. `byteUs` is what a byte takes on the link. */
export function endpointOf({ descriptor, name }: EndpointRow, boot: string, byteUs: number): Endpoint {
  const { version, maxInflight, maxTransfer } = descriptor;
  return { name, class: descriptor.class, version, maxInflight, maxTransfer, byteUs, boot };
}

async function ask(sys: Channel, op: number, body: readonly number[], answerLimit: number): Promise<Uint8Array> {
  const request = { op, body: Uint8Array.from(body), deadlineMs: DEADLINE_MS, patienceMs: DEADLINE_MS, answerLimit };
  const outcome = await sys.submit(request).outcome;
  if (outcome.status !== STATUS.OK)
    throw new ProtocolError(`the endpoint table was answered ${statusName(outcome.status)}`);
  return outcome.body;
}
