/**
 * The boot loader beside the Core: it chooses the slot before systemd starts it, and systemd reports the result. A slot
 * starts after any failure, at a bounded rate, and the reason is reported.
 */
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BootRecord, LOADER, newRecord, SLOTS, type Slot } from '../../plugin-api/inside/boot-record.ts';
import { type BootReport, leaveReport } from '../../plugin-api/inside/boot-report.ts';
import { removeDurably } from '../../plugin-api/inside/record-file.ts';
import { choose } from './choose.ts';
import { type Checked, Findings } from './findings.ts';
import type { Here } from './here.ts';

/** Decides, waits, writes the record, then what the unit of the Core reads. No slot in the answer: nothing can be started. */
export async function chooseNow(here: Here): Promise<BootReport> {
  mkdirSync(here.run, { recursive: true, mode: 0o755 });
  const findings = new Findings(here);
  const { found, problems, repaired, ms, config } = findings;
  const before = found.kind === 'record' ? found.record : recovered(findings);
  const request = askedIn(here, findings);
  const used = [join(here.core, 'safe-mode-used')].filter(isThere);
  const boot = { boot: here.boot, uptime: here.uptime() };
  const wish = { asked: request?.why, used: used.length > 0 };
  const pick = (now: BootRecord) => choose(now, { ...boot, ...wish, problem: (slot) => findings.at(slot).problem });
  let choice = pick(before);
  if (choice.start !== undefined) await here.wait(choice.wait, choice.why);
  const write = (now: BootRecord): BootRecord => {
    // Once more: the helper of the slots may have been at work.
    choice = pick(now);
    return choice.record;
  };
  const unwritten = findings.lap('write', () => findings.file.note(write, before));
  if (unwritten !== undefined) problems.push(unwritten);
  const { record, start, wait, why } = choice;
  for (const path of [...used, ...(request?.files ?? [])]) findings.attempt(`${path} stays`, () => removeDurably(path));
  const { image, hash, how }: Partial<Checked> = start === undefined ? {} : findings.at(start.slot);
  const { rung, cause, primary, slots, pause } = record;
  const report: BootReport = {
    form: 1,
    loader: LOADER,
    ...(start && { slot: start.slot }),
    ...(hash && { image: hash }),
    ...(image && { version: image.version, sku: image.sku }),
    safe: start?.safe ?? false,
    rung,
    ...(cause && { cause }),
    why,
    primary,
    slots,
    problems,
    repaired,
    ms,
    tries: start ? slots[start.slot].tries : 0,
    verify: how ?? config.verify ?? 'full',
    waited: wait,
    ...boot,
    // A switch that asks for it, and the command line, will still do so.
    ...(start?.safe && (request === undefined || request.files !== undefined) && { pause }),
    ...(before.last?.text && { before: before.last.text }),
  };
  findings.lap('write', () => leaveReport(here.run, join(here.system, 'slots'), report));
  const causes = report.safe || start === undefined ? [why] : [cause ?? []].flat();
  for (const line of [...causes, ...repaired.map((path) => `${path} was put right`), ...problems]) here.tell(line);
  if (start === undefined) await here.wait(wait, why);
  return report;
}

/** Whether this loader can do with what lies here: asked before it takes the place of another. */
export function selfCheck(here: Here): readonly string[] {
  const findings = new Findings(here);
  const unfit = SLOTS.map((slot) => findings.at(slot, findings.found.record, 'measured').problem);
  return unfit.includes(undefined) ? findings.problems : [...findings.problems, ...unfit.map((one) => `${one}`)];
}

/** Record for a device without a valid one: slots that can be started are good, the newest is the primary. */
function recovered(findings: Findings): BootRecord {
  const slotOf = ({ image, hash }: Checked): Slot | undefined =>
    image && hash ? { state: 'good', version: image.version, image: hash, tries: 0 } : undefined;
  const [one, two] = [findings.at('a'), findings.at('b')];
  const [a, b] = [slotOf(one), slotOf(two)];
  const primary = (two.image?.builtAt ?? -1) > (one.image?.builtAt ?? -1) ? 'b' : 'a';
  return newRecord({ ...(a && { a }), ...(b && { b }) }, primary);
}

/** Request for safe mode and its reason; the file asks for one start only. */
function askedIn(here: Here, findings: Findings): { why: string; files?: readonly string[] } | undefined {
  if (here.commandLine.split(/\s+/).includes(`${here.service}.safe-mode=1`))
    return { why: 'the command line of the kernel asks for safe mode' };
  const files = [join(here.system, 'boot/safe-mode')].filter(isThere);
  if (files.length > 0) return { why: 'a file asks for safe mode', files };
  const { gpio } = findings.config;
  if (gpio === undefined) return undefined;
  const level = findings.attempt('the switch for safe mode', () => {
    if (typeof gpio.read === 'string') return readFileSync(gpio.read, 'utf8');
    const [program = '', ...words] = gpio.read;
    return execFileSync(program, words, { timeout: 2000, encoding: 'utf8' });
  });
  return level?.trim() === `${gpio.level}` ? { why: 'a switch of the device asks for safe mode' } : undefined;
}

/** A folder asks for nothing, and is left: where the Core writes, root takes no tree away. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
