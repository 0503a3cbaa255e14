/** One update at a time: what operators order, what the device does by itself, and what waits for a rule. */
import { join } from 'node:path';
import { type CallContext, CoreError, callerName, maybe, reasonOf } from '@device-core/plugin-api';
import { CheckRounds } from './check-rounds.ts';
import { Consenting } from './consenting.ts';
import { roomFor } from './download.ts';
import { downloadImage } from './download-image.ts';
import { find, needSlots, sourceAt } from './fetching.ts';
import { activate, gate, resume, rollBack } from './flip.ts';
import { Jobs } from './jobs.ts';
import { dropOldForms } from './old-forms.ts';
import type { Parts } from './parts.ts';
import { type Act, firstNo, nextAct, type Refusal } from './policy.ts';
import type { Order, UpdateRecord } from './record.ts';
import type { Source } from './repository.ts';
import { COMMITTED, OVER } from './states.ts';
import { Stopped } from './stopped.ts';
import { UpdateFacts } from './update-facts.ts';
import { Uploads } from './uploads.ts';

/** While an update waits for hours, a hold or a lease, it is looked at so often. */
const LOOK_MS = 60_000;
const MB = 1 << 20;
const STAGED: readonly string[] = ['staged', 'waiting'];

interface Ordered {
  readonly accept?: string;
  readonly anyway?: boolean;
}

export class Updater {
  readonly parts: Parts;
  readonly uploads: Uploads;
  readonly facts: UpdateFacts;
  readonly #consent: Consenting;
  readonly #jobs: Jobs;
  readonly #rounds: CheckRounds;
  #look: Disposable | undefined;

  constructor(parts: Parts) {
    const { maxMB, keepFreeMB } = parts.config;
    this.parts = parts;
    this.uploads = new Uploads(join(parts.folder, 'uploads'), (folder) => roomFor(folder, maxMB * MB, keepFreeMB * MB));
    this.#consent = new Consenting(parts, () => this.wake());
    this.#jobs = new Jobs(parts, this.uploads);
    this.facts = new UpdateFacts(parts);
    this.#rounds = new CheckRounds(
      parts,
      this.facts,
      () => this.busy,
      () => this.check(undefined),
    );
  }

  get busy(): boolean {
    return this.#jobs.running !== undefined;
  }

  /** The slots are there: what was cut off goes on. Called once for each time that they appear. */
  async begin(): Promise<void> {
    const { journal, log } = this.parts;
    // The slots were away for a moment: what is under way goes on, or fails by itself.
    if (this.#jobs.running) return;
    try {
      const slots = await this.facts.slots();
      const found = await resume(this.parts, slots);
      if (found === 'gate') this.#jobs.run('judge', () => gate(this.parts));
      else if (found === 'activate') this.#jobs.run('activate', () => activate(this.parts));
      else await Promise.all([dropOldForms(this.parts, slots), this.#jobs.tidy()]);
    } catch (error) {
      log.error({ err: error }, 'cannot tell what became of the update');
      await journal.note({ reason: `cannot tell its outcome: ${reasonOf(error)}` });
    }
    this.wake();
    this.#rounds.plan();
  }

  /** Resolves when it has been looked for. Rejects as `Source.newest` and `Slots.inspect`: what was known of an update stays. */
  async check(call: Pick<CallContext, 'caller'> | undefined, channel = this.parts.config.channel): Promise<void> {
    const { journal } = this.parts;
    await this.#jobs.free('check');
    needSlots(this.parts, 'look for an update');
    const source = await this.parts.repository();
    if (!source)
      throw new CoreError('UPDATE_REFUSED', {
        verb: 'look for',
        reason: 'no repository is configured',
        rule: 'repository',
      });
    await this.#jobs.free('check');
    const { state, reason, rule } = journal.record;
    const by = call && { by: callerName(call.caller) };
    let fault: unknown;
    await this.#jobs.run('check', async (signal) => {
      await journal.move('check', by);
      try {
        await this.#find(source, { channel, signal });
      } catch (error) {
        if (signal.aborted) throw error;
        fault = error;
        await journal.move('fail', { reason: reasonOf(error), checkedAt: this.parts.clock.now(), ...by });
        if (state !== 'idle') await journal.note({ reason, rule });
      }
    });
    this.#rounds.plan();
    this.wake();
    if (fault !== undefined) throw fault;
  }

  async #find(source: Source, about: { readonly channel: string; readonly signal: AbortSignal }): Promise<void> {
    const { journal, clock } = this.parts;
    const checkedAt = clock.now();
    try {
      const found = await find(this.parts, source, about);
      this.parts.trust.alarm = undefined;
      if (typeof found === 'string') return await journal.move('nothing', { reason: found, checkedAt });
      await this.#found(found, { checkedAt });
    } catch (error) {
      if (about.signal.aborted) throw error;
      const { code, details } = Object(error) as Partial<CoreError>;
      const reason = reasonOf(error);
      if (code === 'UPDATE_REFUSED' && details?.rule === 'clock')
        return await journal.move('nothing', { reason: `waiting (clock): ${reason}`, rule: 'clock' });
      // Not there, or too slow, is no alarm: it is tried again.
      if (error instanceof CoreError && code !== 'REPOSITORY_FAILED') this.parts.trust.alarm = error;
      throw error;
    }
  }

  async #found(
    { wanted, slots, missing, compressed }: Exclude<Awaited<ReturnType<typeof find>>, string>,
    more: { readonly checkedAt?: number; readonly by?: string } = {},
  ): Promise<void> {
    const running = slots.slots.find(({ booted }) => booted);
    const other = slots.slots.find(({ booted }) => !booted);
    this.facts.found(missing, compressed);
    await this.parts.journal.move('found', {
      wanted,
      ...more,
      left: undefined,
      order: undefined,
      anyway: undefined,
      flips: undefined,
      from: running?.version,
      slot: other?.name,
    });
  }

  /** Takes a folder or an archive of the device. Resolves when it is looked at, and goes on as far as the rules let it. */
  async install(
    path: string,
    { downgrade, ...ordered }: Ordered & { readonly downgrade?: boolean },
    by: string,
  ): Promise<void> {
    await this.#jobs.free('install');
    needSlots(this.parts, 'install the image');
    const source = await sourceAt(this.uploads.pathOf(path));
    await this.#jobs.free('install');
    let fault: unknown;
    await this.#jobs.run('install', async (signal) => {
      try {
        const found = await find(this.parts, source, { signal, ...(downgrade && { downgrade }) });
        if (typeof found === 'string')
          throw new CoreError('UPDATE_REFUSED', { verb: 'install', reason: found, rule: 'same' });
        await this.uploads.handOver(source.name);
        await this.#found(found, { by });
      } catch (error) {
        fault = error; // nothing has changed: whoever asked is told
      }
    });
    if (fault !== undefined) throw fault;
    await this.order('apply', ordered, by);
  }

  /** Starts an order at once, or after the short job that runs. Throws UPDATE_REFUSED, UPDATE_CONFLICT, SLOTS_UNAVAILABLE. */
  async order(order: Order, { accept, anyway = false }: Ordered, by: string): Promise<void> {
    const { journal } = this.parts;
    const verb = order === 'apply' ? 'install' : 'download';
    // It has only to be written down that it is staged, or found.
    const ends = { download: 'staged', check: 'available', install: 'available' }[this.#jobs.running?.name ?? ''];
    if (ends === journal.record.state) await this.#jobs.running?.done;
    await this.facts.slots();
    await this.#again(verb);
    const { state, wanted } = journal.record;
    const going = state === 'downloading' || state === 'verifying';
    if (!wanted || !(going || ['available', 'staged', 'waiting'].includes(state)) || (this.#jobs.running && !going))
      throw new CoreError('UPDATE_CONFLICT', { verb, state });
    if (order === 'download' && state !== 'available') throw new CoreError('UPDATE_CONFLICT', { verb, state });
    if (accept !== undefined) await this.#consent.accept(wanted, accept, verb);
    const acts: readonly Act[] =
      order === 'apply' ? (state === 'available' ? ['download', 'activate'] : ['activate']) : ['download'];
    await this.facts.measure();
    for (const act of acts) {
      const no = firstNo(act, await this.facts.read(), { by: 'operator', anyway });
      if (no && !no.rule.passes) throw new CoreError('UPDATE_REFUSED', { verb, reason: no.reason, rule: no.rule.name });
    }
    this.parts.log.info({ by, order }, 'an update was ordered');
    await journal.note({ order, anyway });
    await this.wake();
  }

  /** An update that is over is looked for once more: an operator tries it again. Throws as check(), and UPDATE_CONFLICT. */
  async #again(verb: string): Promise<void> {
    const { journal, config } = this.parts;
    if (this.#jobs.running || !OVER.includes(journal.record.state)) return;
    if (config.url !== undefined) await this.check(undefined);
    const { state, reason = 'nothing was found' } = journal.record;
    if (!OVER.includes(state)) return;
    const remedy = config.url === undefined ? 'devicectl update install takes an image from a file' : reason;
    throw new CoreError('UPDATE_CONFLICT', { verb, state: `${state} (${remedy})` });
  }

  async rollback(reason: string, by: string): Promise<void> {
    const { journal } = this.parts;
    const { state } = journal.record;
    if (state === 'activating' || (this.#jobs.running && state !== 'probation' && !OVER.includes(state)))
      throw new CoreError('UPDATE_CONFLICT', { verb: 'roll back', state });
    await this.#jobs.stop(new Stopped(reason));
    await rollBack(this.parts, reason, by);
  }

  /** Ends what is under way; with `discard` the image is not wanted any more. Throws UPDATE_CONFLICT where it is too late for that. */
  async hold(hold: { readonly until?: number; readonly reason: string }, discard: boolean): Promise<void> {
    const { journal } = this.parts;
    const { state } = journal.record;
    const late = COMMITTED.includes(state);
    if (late && discard) throw new CoreError('UPDATE_CONFLICT', { verb: 'discard', state });
    // Before it is stopped: what is stopped would be taken up again for the order.
    const noted = journal.note({ hold, ...(!late && { order: undefined, anyway: undefined }) });
    if (!late) await this.#jobs.stop(new Stopped(`held back: ${hold.reason}`));
    await noted;
    if (discard && journal.can('discard')) {
      await journal.move('discard', {
        wanted: undefined,
        order: undefined,
        anyway: undefined,
        reason: `discarded: ${hold.reason}`,
      });
      await this.#jobs.tidy();
    }
    this.wake();
  }

  /** Resolves with the hold that it ended; undefined where none was on. */
  async resumed(): Promise<UpdateRecord['hold']> {
    const { journal, clock } = this.parts;
    const { hold } = journal.record;
    const on = hold && (hold.until === undefined || hold.until > clock.now());
    await journal.note({ hold: undefined });
    this.wake();
    this.#rounds.plan();
    return on ? hold : undefined;
  }

  /** The rules' answer for the next act, and the requester of that act. */
  async why(): Promise<{ readonly act: Act; readonly by: 'operator' | 'device'; readonly no?: Refusal }> {
    const { record } = this.parts.journal;
    const act = nextAct(record);
    await this.facts.slots().catch(() => undefined); // told by the rule
    if (act === 'download') await this.facts.measure();
    const by = record.order === undefined ? 'device' : 'operator';
    const no = firstNo(act, await this.facts.read(), { by, ...(record.anyway && { anyway: true }) });
    return { act, by, ...maybe({ no }) };
  }

  /** Something has changed: what waits may go on, and what is under way may have to stop. */
  async wake(): Promise<void> {
    this.#look?.[Symbol.dispose]();
    this.#look = undefined;
    if (this.parts.scope.signal.aborted) return;
    try {
      await this.#consider();
    } catch (error) {
      this.parts.log.warn({ err: error }, 'cannot go on with the update');
    }
  }

  async #consider(): Promise<void> {
    const { journal, config, services } = this.parts;
    const { state, order, anyway = false } = journal.record;
    if (this.#jobs.running || !STAGED.includes(state)) this.#consent.withdraw();
    if (!services.slots) return;
    if (state === 'downloading' && this.#jobs.running) {
      const no = firstNo('download', { ...(await this.facts.read()), fetch: undefined }, { by: 'operator', anyway });
      if (no) this.#jobs.running.abort.abort(new Stopped(no.reason));
      return;
    }
    if (this.#jobs.running) return;
    if (state === 'available') {
      const wants =
        order !== undefined ? 'operator' : ['download', 'apply'].includes(config.automatic) ? 'device' : undefined;
      if (wants) await this.#attempt('download', wants, anyway, () => this.#download());
    } else if (STAGED.includes(state)) {
      const wants = order === 'apply' ? 'operator' : config.automatic === 'apply' ? 'device' : undefined;
      if (wants) await this.#attempt('activate', wants, anyway, () => this.#activate());
    }
  }

  async #attempt(act: Act, by: 'operator' | 'device', anyway: boolean, go: () => void): Promise<void> {
    const { journal, scope } = this.parts;
    const { state } = journal.record;
    if (!this.facts.knowsSlots) await this.facts.slots();
    if (act === 'download') await this.facts.measure();
    const facts = await this.facts.read();
    const no = firstNo(act, facts, { by, anyway });
    // Others may have come first meanwhile.
    if (this.#jobs.running || journal.record.state !== state) return;
    if (!no) {
      this.#consent.withdraw();
      return go();
    }
    const { name } = no.rule;
    if (act === 'activate') this.#consent.consider(facts, by, name);
    if (act === 'activate' && (state === 'staged' || journal.record.rule !== name))
      await journal.move('wait', { reason: no.reason, rule: name });
    else await journal.note({ reason: no.reason, rule: name });
    this.#look ??= scope.timeout('look whether the update may go on', LOOK_MS, () => this.wake());
  }

  #download(): void {
    const done = this.#jobs.run('download', (signal) => downloadImage(this.parts, this.facts, signal));
    void done.then(() => this.wake());
  }

  #activate(): void {
    void this.#jobs.run('activate', () => activate(this.parts));
  }
}
