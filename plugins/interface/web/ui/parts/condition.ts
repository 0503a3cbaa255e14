/** How a component is, in words of people: what is wrong, why, and what to do. */
import { timeText } from '../core/format.ts';
import { link } from '../core/link.ts';
import { catalogue } from '../core/text.ts';
import type { Level } from './level.ts';
import type { Component, Health, Plugin } from './shapes.ts';

export interface Row extends Plugin {
  readonly said?: Component | undefined;
  /** It starts or stops, or waits or complains while others do: that is no fault yet. */
  readonly settling: boolean;
}

/** Something that is not as it should be. */
export interface Trouble {
  readonly id: string;
  readonly level: Level;
  /** One sentence. */
  readonly what: string;
  readonly why?: string;
  readonly remedy: string;
  readonly href: string;
  /** Text of the link. */
  readonly action: string;
}

export const levelOf = ({ state, said, settling }: Row): Level =>
  state === 'failed' || state === 'quarantined'
    ? 'error'
    : settling
      ? 'info'
      : state === 'active' && said?.status === 'error'
        ? 'error'
        : state === 'stopped'
          ? 'quiet'
          : state !== 'active' ||
              said?.status === 'waiting' ||
              said?.status === 'blocked' ||
              said?.warning?.code === 'BUSY'
            ? 'warn'
            : 'okay';

export const stateText = (row: Row): string =>
  row.state === 'active' && levelOf(row) !== 'okay' ? condition('troubled') : condition(row.state);

export const isMoving = ({ state }: Plugin): boolean => state === 'starting' || state === 'stopping';

/**
 * Both lists are asked for apart: while plugins come and go, one is older than the other. `calm`: they have not moved
 * lately, so that what waits or complains does so for a reason of its own.
 */
export function rowsOf(plugins: readonly Plugin[], health: Health | undefined, calm = true): readonly Row[] {
  const moves = !calm || plugins.some(isMoving);
  return plugins.map((plugin) => {
    const { id, state, since } = plugin;
    const found = health?.components[id];
    const isOther = found !== undefined && isOfAnotherState(found, since);
    const said = isOther ? undefined : found;
    const isActive = state === 'active';
    const waits = state === 'waiting' || (isActive && said !== undefined && said.status !== 'okay');
    return { ...plugin, said, settling: isMoving(plugin) || (waits && moves) || (isActive && isOther) };
  });
}

/** An error may have a beginning of its own, after that of the state. */
const isOfAnotherState = ({ since = 0, status }: Component, of: number): boolean =>
  since !== 0 && (since < of || (since > of && status !== 'error'));

/** The trouble of one plugin; undefined where it is well, on its way, or off on purpose. */
export function troubleOf(row: Row): Trouble | undefined {
  const level = levelOf(row);
  if (level === 'okay' || level === 'info' || (level === 'quiet' && !row.essential)) return undefined;
  const { id, state, said, reason, nextStartAt } = row;
  const own = { id, level, href: link('plugins', [id]), action: condition('openPlugin', { id }) };
  const told = state === 'active' ? (said?.warning?.message ?? said?.message) : (reason ?? said?.message);
  const why = told === undefined ? {} : { why: told };
  if (state === 'active' && said?.warning?.code === 'BUSY' && said.status === 'okay')
    return {
      ...own,
      ...why,
      what: condition('isBusy', { id }),
      remedy: condition('lookAtCost'),
      href: link('plugins', [], { view: 'cost' }),
      action: condition('openCost'),
    };
  if (state === 'active')
    return { ...own, ...why, what: condition('isTroubled', { id }), remedy: condition('readLog') };
  if (state === 'waiting')
    return { ...own, ...why, what: condition('isWaiting', { id }), remedy: condition('startMissing') };
  if (state === 'stopped') return { ...own, ...why, what: condition('isOff', { id }), remedy: condition('switchOn') };
  const again =
    nextStartAt === undefined ? condition('startAgain') : condition('startsAgain', { at: timeText(nextStartAt) });
  return { ...own, ...why, what: condition(state === 'failed' ? 'hasFailed' : 'givenUp', { id }), remedy: again };
}

/** Everything that needs attention, the worst first: each page that counts faults of the device counts these. */
export function troublesOf(rows: readonly Row[], health: Health | undefined): readonly Trouble[] {
  const ids = new Set(rows.map(({ id }) => id));
  const others = Object.entries(health?.components ?? {}).flatMap(([id, { status, message }]): readonly Trouble[] =>
    ids.has(id) || status === 'okay' || status === 'waiting'
      ? []
      : [
          {
            id,
            level: 'error',
            what: condition('isTroubled', { id }),
            remedy: condition('readLog'),
            ...LOG(),
            ...(message !== undefined && { why: message }),
          },
        ],
  );
  const found = [...rows.flatMap((row) => troubleOf(row) ?? []), ...others];
  // Warnings about the budget of a plugin stand with the plugin; the other warnings are about the device. While
  // plugins come and go, others do without them for a moment, and say so.
  const warned = (rows.some(({ settling }) => settling) ? [] : (health?.warnings ?? []))
    .filter(({ code }) => code !== 'STALL' && code !== 'BUSY')
    .map(({ code, message }, index): Trouble => {
      const remedy = code.startsWith('STORAGE') ? 'makeRoom' : code.startsWith('APP_') ? 'seeApps' : 'readLog';
      const to = remedy === 'readLog' ? LOG() : { href: link('apps'), action: condition('openApps') };
      return { id: `${code} ${index}`, level: 'warn', what: message, remedy: condition(remedy), ...to };
    });
  return [...found, ...warned].sort((a, b) => (a.level === b.level ? 0 : a.level === 'error' ? -1 : 1));
}

const LOG = () => ({ href: link('logs', [], { level: 'warn' }), action: condition('openLog') });

export const condition = catalogue('parts/condition');
