import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { redactText } from '@device-core/plugin-api/inside/redact';
import { JOURNAL_LINES } from './bundle-table.ts';

const READ_MS = 20_000;
const MOST_BYTES = 32 << 20;
const FIELDS = ['MESSAGE', 'SYSLOG_IDENTIFIER', '_PID', 'CORE_PLUGIN', 'CORE_APP', 'CORE_FIELDS'];
const UNITS = ['core', 'core-init', 'safe'];

/** Lines of the Core's units in systemd's journal, as far as the Core may read it. */
export class UnitJournal {
  readonly #scope: Scope;
  readonly #service: string;

  /** `service` begins the names of the units. */
  constructor(scope: Scope, service: string) {
    this.#scope = scope;
    this.#service = service;
  }

  /** The newest, oldest of them first: an entry each, however many lines it has. Throws UNAVAILABLE. */
  async lines(ended: AbortSignal): Promise<readonly string[]> {
    const unavailable = (reason: string) => new CoreError('UNAVAILABLE', { what: 'the journal', reason });
    const units = UNITS.flatMap((unit) => ['-u', `${this.#service}-${unit}`]);
    // As JSON: a message with several lines stays one, and a secret in it too.
    const how = ['-q', '-a', '-n', String(JOURNAL_LINES), '--no-pager', '-o', 'json'];
    const stdout = await this.#scope.within('the journal', READ_MS, async (within) => {
      const signal = AbortSignal.any([ended, within]);
      try {
        return (
          await promisify(execFile)('journalctl', [...units, ...how, `--output-fields=${FIELDS.join(',')}`], {
            maxBuffer: MOST_BYTES,
            signal,
          })
        ).stdout;
      } catch (error) {
        throw unavailable(reasonOf(error));
      }
    });
    const entries = stdout.split('\n').filter((line) => line !== '');
    if (entries.length === 0) throw unavailable('it has nothing of these units that the Core may read');
    return entries.map((entry) => redactText(lineOf(entry)));
  }
}

function lineOf(entry: string): string {
  const said = membersOf(entry);
  const at = new Date(Number(said.__REALTIME_TIMESTAMP) / 1_000);
  const when = Number.isNaN(at.getTime()) ? '-' : at.toISOString();
  const about = [said.CORE_PLUGIN, said.CORE_APP].filter((one) => typeof one === 'string').join(' ');
  const who = `${textOf(said.SYSLOG_IDENTIFIER)}[${textOf(said._PID)}]${about && ` ${about}`}`;
  return [`${when} ${who}: ${textOf(said.MESSAGE)}`, textOf(said.CORE_FIELDS)].filter((one) => one !== '').join(' ');
}

function membersOf(entry: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(entry));
  } catch {
    return {}; // cut, or no entry at all
  }
}

/** Text of a field. The journal passes other data as bytes, and a repeated field as a list. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  const isBytes = value.every((one) => typeof one === 'number');
  return isBytes ? Buffer.from(value).toString('utf8') : value.map(textOf).join(' ');
}
