/** Endpoints of the bridge: read with ENUM and NAME each time a session opens, found by label. */
import { crc32 } from 'node:zlib';
import type { Endpoint } from '@device-core/plugin-api/services/endpoints';
import type { Outcome } from './answer.ts';
import type { Channel } from './channel.ts';
import { DESCRIPTOR_LENGTH, type Descriptor, readDescriptors } from './descriptor.ts';
import { ProtocolError } from './protocol-error.ts';
import { STATUS, statusName } from './status.ts';
import { SYS } from './sys.ts';

const DEADLINE_MS = 1_000;
/** Bytes. */
const NAME_LIMIT = 64;
/** Maximum bytes of an answer of SYS: a name that is too long is refused by a check on its length. */
const ANSWER_LIMIT = 512;
/** Controls, marks of direction, line ends, halves of pairs, what Unicode has not given away. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');
const SYS_NAME = 'sys';
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface EndpointRow {
  readonly descriptor: Descriptor;
  readonly name: string;
}

/** Endpoint that cannot be used, because its name is invalid. */
export interface RefusedEndpoint {
  readonly ep: number;
  /** `its name has control characters ("a\u0000")` */
  readonly reason: string;
}

export interface EndpointTable {
  readonly rows: readonly EndpointRow[];
  readonly refused: readonly RefusedEndpoint[];
}

/** Reads the table. Rejects with ProtocolError when the answers make no sense or the session ends meanwhile. */
export async function readTable(sys: Channel, count: number, tableCrc: number): Promise<EndpointTable> {
  const bytes = await asked(sys, SYS.ENUM, [0], count * DESCRIPTOR_LENGTH);
  const descriptors = readDescriptors(bytes);
  if (!descriptors) throw new ProtocolError('the endpoint table is not one');
  if (tableCrc !== 0 && crc32(bytes) !== tableCrc)
    throw new ProtocolError('the endpoint table is not the one announced');
  const answers = await Promise.all(descriptors.map(({ ep }) => ask(sys, SYS.NAME, [ep], ANSWER_LIMIT)));
  const found = descriptors.map((descriptor, index) => ({ descriptor, ...readName(answers[index]!) }));
  const times = new Map([[SYS_NAME, 1]]);
  for (const { name, descriptor } of found)
    if (name !== undefined && descriptor.ep !== 0) times.set(name, (times.get(name) ?? 0) + 1);
  const rows: EndpointRow[] = [];
  const refused: RefusedEndpoint[] = [];
  for (const { descriptor, name, wrong } of found) {
    const shared = name !== undefined && times.get(name)! > 1;
    // SYS is the endpoint with number 0, under any name.
    if (descriptor.ep === 0) {
      rows.push({ descriptor, name: SYS_NAME });
      continue;
    }
    const reason = shared ? `another one has its name (${JSON.stringify(name)})` : wrong;
    if (reason !== undefined) refused.push({ ep: descriptor.ep, reason });
    else rows.push({ descriptor, name: name! });
  }
  return { rows, refused };
}

/** A label, or what is wrong with it. */
function readName({ status, body }: Outcome): { readonly name?: string; readonly wrong?: string } {
  if (status !== STATUS.OK) return { wrong: `it was answered ${statusName(status)} when asked for its name` };
  if (body.length === 0) return { wrong: 'it has no name' };
  if (body.length > NAME_LIMIT)
    return { wrong: `its name has ${body.length} bytes, at most ${NAME_LIMIT} are allowed` };
  let name: string;
  try {
    name = UTF8.decode(body);
  } catch {
    return { wrong: `its name is not UTF-8 (${Buffer.from(body).toString('hex')})` };
  }
  // JSON escapes some of them only.
  const shown = JSON.stringify(name).replace(ALL_UNPRINTABLE, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
  if (UNPRINTABLE.test(name)) return { wrong: `its name has invisible characters (${shown})` };
  if (name.trim() !== name) return { wrong: `its name begins or ends with a space (${shown})` };
  return { name };
}

/** Endpoint as the rest of the device sees it. `byteUs`: microseconds of a byte on the link. */
export function endpointOf({ descriptor, name }: EndpointRow, boot: string, byteUs: number): Endpoint {
  const { version, maxInflight, maxTransfer } = descriptor;
  return { name, class: descriptor.class, version, maxInflight, maxTransfer, byteUs, boot };
}

async function asked(sys: Channel, op: number, body: readonly number[], answerLimit: number): Promise<Uint8Array> {
  const { status, body: answer } = await ask(sys, op, body, answerLimit);
  if (status !== STATUS.OK) throw new ProtocolError(`the endpoint table was answered ${statusName(status)}`);
  return answer;
}

/** Rejects with ProtocolError where the session ends meanwhile. */
async function ask(sys: Channel, op: number, body: readonly number[], answerLimit: number): Promise<Outcome> {
  const request = { op, body: Uint8Array.from(body), deadlineMs: DEADLINE_MS, patienceMs: DEADLINE_MS, answerLimit };
  const outcome = await sys.submit(request).outcome;
  const { status } = outcome;
  if (status === STATUS.LINK_RESET || status === STATUS.TIMEOUT)
    throw new ProtocolError(`the endpoint table was answered ${statusName(status)}`);
  return outcome;
}
