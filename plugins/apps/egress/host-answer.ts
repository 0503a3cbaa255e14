/** The head of a host's answer, as far as it may be passed on. Pure. */
import type { IncomingMessage } from 'node:http';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { passedOn } from './headers.ts';

/** Tab, and printable Latin-1: what RFC 9112 allows in a reason phrase. */
const PHRASE = /^[\t\x20-\x7e\x80-\xff]*$/;
const LONGEST_PHRASE = 1_024;

export interface Head {
  readonly status: number;
  readonly phrase: string;
  /** Name after value. */
  readonly headers: string[];
}

/** Throws ANSWER_INVALID. */
export function headOf(to: string, { statusCode = 0, statusMessage = '', rawHeaders }: IncomingMessage): Head {
  if (!(statusCode >= 100 && statusCode <= 599)) throw invalid(to, `its status is ${statusCode}`);
  if (!PHRASE.test(statusMessage)) throw invalid(to, 'control characters stand in its first line');
  if (statusMessage.length > LONGEST_PHRASE) throw invalid(to, `its first line exceeds ${LONGEST_PHRASE} characters`);
  return { status: statusCode, phrase: statusMessage, headers: passedOn(rawHeaders) };
}

/** A host that answers and cannot be understood, apart from one that cannot be reached. */
export function answerFault(to: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const { code = '' } = thrown as NodeJS.ErrnoException;
  const unread = code.startsWith('HPE_') || code.startsWith('ERR_');
  return unread ? invalid(to, reasonOf(thrown)) : new CoreError('UNAVAILABLE', { what: to, reason: reasonOf(thrown) });
}

const invalid = (to: string, reason: string): CoreError => new CoreError('ANSWER_INVALID', { host: to, reason });
